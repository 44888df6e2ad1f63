/** What can be done with keys, the mouse and fingers. */
import { element } from "../dom.ts";
import { dialogOf, type Dialog } from "./dialog.ts";

const HELP: readonly (readonly [title: string, rows: readonly (readonly [keys: string, what: string])[]])[] =
  [
    [
      "Anywhere",
      [
        ["?", "this help"],
        ["/", "search"],
        ["[ and ]", "finer and coarser level"],
        ["n", "name the chosen cluster; Enter keeps the name, Escape goes back to the tree"],
        ["Ctrl Z, Ctrl Shift Z", "undo, redo"],
        ["Tab, Shift Tab", "go from part to part"],
      ],
    ],
    [
      "Tree",
      [
        ["Arrow keys", "choose the parent, a child or the cluster beside"],
        ["Enter, a second click", "zoom into the chosen cluster"],
        ["Escape, Home", "zoom out, or out of all"],
        ["Long press", "what a cell is, where it is too small for a name"],
      ],
    ],
    [
      "Map of points",
      [
        ["Arrow keys, drag", "move"],
        ["+ and \u2212, wheel, pinch", "zoom; 0 shows all"],
        ["Click, tap", "choose a point and its cluster"],
        ["Enter", "choose the point nearest to the middle"],
        ["Long press", "what a point is"],
        ["Lasso, or drag with Shift", "select the points within a line; Escape gives it up"],
      ],
    ],
    [
      "Map of clusters",
      [
        ["Arrow keys", "choose the nearest circle on that side"],
        ["Enter, double click", "open the chosen cluster, or close it"],
        ["Escape", "close what the chosen cluster is in"],
        ["+ and \u2212, wheel, pinch", "zoom; 0 shows all"],
        ["Long press", "what a circle is"],
      ],
    ],
    [
      "Table of labels",
      [
        ["Arrow keys", "go from cell to cell"],
        ["Enter, click", "select the points of a cell, or choose the cluster of a row"],
      ],
    ],
  ];

export function helpDialog(): Dialog {
  const parts = HELP.flatMap(([title, rows]) => [
    element("h3", {}, title),
    element(
      "dl",
      { class: "keys" },
      ...rows.map(([keys, what]) => element("div", {}, element("dt", {}, keys), element("dd", {}, what))),
    ),
  ]);
  const open = { text: "?", label: "Help", title: "Help (?)" };
  return dialogOf("Keys, mouse and fingers", open, ...parts);
}
