/**
 * The tree as a zoomable icicle or a treemap; area is mass. A canvas draws every cell that is large enough to
 * see. Cells that can hold a name are elements too, which screen readers and the Tab key find.
 */
import type { Data } from "../data.ts";
import { button, colorsOf, element, fitCanvas, inNextFrame, isQuiet } from "../dom.ts";
import { count, inkOn, percent, plural, rgb } from "../format.ts";
import { changesAny, type Store } from "../state.ts";
import { cardIn } from "./card.ts";
import { cellAt, icicleCells, massTree, treemapCells, zoomedIcicle, type Cell } from "./cells.ts";
import { onLongPress } from "./touch.ts";
import type { Sized } from "./view.ts";

// Pixels: what can be seen, and what can hold a name.
const SEEN = 1;
const NAMED = { width: 26, height: 14 };
const MOST_NAMED = 600;
const LINE = 18; // of a treemap's headings
const LEVEL_LINE = 3;
const ZOOM_TIME = 220; // milliseconds

export function mountIcicle(place: HTMLElement, data: Data, store: Store): Sized {
  const path = element("nav", { class: "path", "aria-label": "From the root to what is shown" });
  const shapes = button("treemap", () => {
    store.set({ shape: store.state.shape === "icicle" ? "treemap" : "icicle" });
  });
  const canvas = element("canvas", { "aria-hidden": "true" });
  const names = element("div", { class: "names", role: "presentation" });
  const mark = element("div", { class: "mark", "aria-hidden": "true" });
  const area = element(
    "div",
    {
      class: "cells",
      role: "tree",
      tabindex: 0,
      "aria-label": "Tree of clusters; arrow keys move, Enter zooms, Escape zooms out",
    },
    canvas,
    names,
    mark,
  );
  place.replaceChildren(element("div", { class: "bar" }, path, shapes), area);
  const card = cardIn(area);

  const tree = massTree(data);
  const whole = icicleCells(tree);
  const placeOf = new Map(whole.map((cell) => [cell.node, cell]));
  const total = data.mass(data.root);
  let cells: Cell[] = [];
  let laidOut = ""; // for what the cells are
  let named: readonly unknown[] = []; // and their elements
  let shown: Cell | null = null; // the part of the icicle that is in view, while zooming between two nodes
  let frame = 0;

  const size = (): { width: number; height: number } => ({
    width: area.clientWidth,
    height: area.clientHeight,
  });

  /** Lay the cells out, unless they are as they were. */
  const layOut = (): void => {
    const { zoom, shape, level } = store.state;
    const { width, height } = size();
    const wanted = shape === "treemap" ? `${zoom} ${level} ${width} ${height}` : `${zoom}`;
    if (wanted === laidOut && !shown) return;
    laidOut = shown ? "" : wanted;
    if (shape === "treemap") cells = treemapCells(tree, zoom, level, data, { width, height, line: LINE });
    else cells = zoomedIcicle(whole, shown ?? placeOf.get(zoom)!);
  };

  const draw = (): void => {
    const { width, height } = size();
    if (!width || !height) return;
    layOut();
    const ratio = fitCanvas(canvas, width, height);
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    const { chosen, hovered } = store.state;
    let row = -1;
    let filled = 0; // how far to the right the row is drawn
    for (const cell of cells) {
      if (cell.y0 !== row) {
        row = cell.y0;
        filled = -1;
      }
      const right = cell.x1 * width;
      const wide = right - cell.x0 * width;
      const top = cell.y0 * height;
      const high = (cell.y1 - cell.y0) * height - 1;
      context.fillStyle = rgb(data.color(cell.node));
      if (wide >= SEEN) {
        context.fillRect(cell.x0 * width, top, wide - (wide > 4 ? 1 : 0), high);
      } else if (Math.floor(right) > Math.floor(filled)) {
        // of cells that cannot be seen alone, one fills the pixel
        context.fillRect(Math.floor(right), top, 1, high);
      }
      filled = right;
    }
    for (const node of [hovered, chosen]) {
      const cell = node === null ? undefined : cells.find((each) => each.node === node);
      if (cell) outline(context, cell, width, height, node === chosen ? 3 : 1.5);
    }
    drawLevel(height);
    drawNames(width, height);
  };

  /** A line below the row of the level that maps show. */
  const drawLevel = (height: number): void => {
    const { level, shape } = store.state;
    const cell = shape === "icicle" ? cells.find((each) => data.levelOf(each.node) === level) : undefined;
    mark.hidden = !cell;
    if (cell) mark.style.top = `${cell.y1 * height - LEVEL_LINE}px`;
  };

  /**
   * Make the elements again, unless they are as they were: a button of the mouse that goes down on one and comes
   * up on another makes no click.
   */
  const drawNames = (width: number, height: number): void => {
    const { chosen, names: given, level, shape } = store.state;
    const wanted = [cells, chosen, given, level, shape, width, height];
    if (wanted.every((each, at) => each === named[at])) return;
    named = wanted;
    const items: HTMLElement[] = [];
    let active: string | null = null;
    for (const cell of cells) {
      const wide = (cell.x1 - cell.x0) * width;
      const high = (cell.y1 - cell.y0) * height;
      const isChosen = cell.node === store.state.chosen;
      if ((wide < NAMED.width || high < NAMED.height || items.length >= MOST_NAMED) && !isChosen) continue;
      const item = nameItem(cell, wide > 2 * NAMED.width);
      item.style.left = `${Math.max(cell.x0, 0) * width}px`;
      item.style.top = `${cell.y0 * height}px`;
      item.style.width = `${Math.max((Math.min(cell.x1, 1) - Math.max(cell.x0, 0)) * width - 1, 0)}px`;
      item.style.height = `${Math.min(high, store.state.shape === "treemap" && !isLeaf(cell) ? LINE : high) - 1}px`;
      if (isChosen) active = item.id;
      items.push(item);
    }
    names.replaceChildren(...items);
    if (active) area.setAttribute("aria-activedescendant", active);
    else area.removeAttribute("aria-activedescendant");
  };

  const isLeaf = (cell: Cell): boolean => data.levelOf(cell.node) <= store.state.level;

  const nameItem = (cell: Cell, roomy: boolean): HTMLElement => {
    const { node } = cell;
    const color = data.color(node);
    const title = store.titleOf(node);
    const depth = data.levels.length - data.levelOf(node) + 1;
    const item = element(
      "div",
      {
        id: `cell-${data.id(node)}`,
        class: "cell",
        role: "treeitem",
        "aria-level": depth,
        "aria-selected": String(node === store.state.chosen),
        "aria-label": `${title}, ${plural(data.size(node), "point")}, ${percent(data.mass(node) / total)} of the mass`,
      },
      element("span", {}, title),
      roomy ? element("small", {}, ` ${count(data.size(node))}`) : null,
    );
    item.style.color = inkOn(color);
    item.style.backgroundColor = rgb(color);
    return item;
  };

  const drawPath = (): void => {
    const { zoom, shape } = store.state;
    const steps = data.path(zoom).map((node) =>
      button(
        store.titleOf(node),
        () => {
          store.set({ zoom: node });
        },
        node === zoom ? { "aria-current": "true" } : {},
      ),
    );
    path.replaceChildren(...steps);
    shapes.textContent = shape === "icicle" ? "treemap" : "icicle";
    shapes.title = `show the tree as ${shape === "icicle" ? "a treemap" : "an icicle"}`;
  };

  const redraw = inNextFrame(draw);

  /** Move from what is shown to what is to be shown. */
  const zoomFrom = (before: Cell): void => {
    cancelAnimationFrame(frame);
    const target = placeOf.get(store.state.zoom)!;
    if (isQuiet() || store.state.shape === "treemap") {
      shown = null;
      draw();
      return;
    }
    const begin = performance.now();
    const step = (now: number): void => {
      const part = Math.min((now - begin) / ZOOM_TIME, 1);
      const eased = part * (2 - part);
      const mix = (a: number, b: number): number => a + (b - a) * eased;
      shown =
        part === 1
          ? null
          : {
              node: target.node,
              x0: mix(before.x0, target.x0),
              x1: mix(before.x1, target.x1),
              y0: Math.round(mix(before.y0, target.y0)),
              y1: target.y1,
            };
      draw();
      if (part < 1) frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
  };

  const nodeUnder = (event: MouseEvent): number | null => {
    const box = area.getBoundingClientRect();
    return (
      cellAt(cells, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height)?.node ??
      null
    );
  };

  area.addEventListener("click", (event) => {
    const node = nodeUnder(event);
    if (node === null) return;
    if (node === store.state.chosen || node === data.root) store.zoomTo(node);
    else store.choose(node);
  });
  const showCard = (event: PointerEvent): void => {
    const node = nodeUnder(event);
    if (node === null) {
      card.hide();
      return;
    }
    const box = area.getBoundingClientRect();
    const facts = `${plural(data.size(node), "point")}, ${percent(data.mass(node) / total)} of the mass`;
    void card.show(node, event.clientX - box.left, event.clientY - box.top, () => [
      element("strong", {}, store.titleOf(node)),
      element("p", {}, facts),
    ]);
  };
  onLongPress(area, showCard);
  area.addEventListener("pointerdown", () => {
    card.hide();
  });
  area.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    store.set({ hovered: nodeUnder(event) }, { step: false });
    showCard(event);
  });
  area.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return;
    card.hide();
    store.set({ hovered: null }, { step: false });
  });
  area.addEventListener("keydown", (event) => {
    if (onKey(event.key)) event.preventDefault();
  });

  /** Walk the tree from the chosen cluster; tells whether the key meant something. */
  const onKey = (key: string): boolean => {
    const at = store.state.chosen ?? store.state.zoom;
    const parent = data.parent(at);
    const beside = parent === null ? [at] : [...data.children(parent)];
    const step = key === "ArrowRight" ? 1 : -1;
    switch (key) {
      case "ArrowDown": {
        const child = data.children(at)[0];
        if (child !== undefined) store.choose(child);
        return true;
      }
      case "ArrowUp":
        if (parent !== null && parent !== data.root) store.choose(parent);
        return true;
      case "ArrowLeft":
      case "ArrowRight":
        store.choose(beside[(beside.indexOf(at) + step + beside.length) % beside.length]!);
        return true;
      case "Home":
        store.set({ zoom: data.root });
        return true;
      case "Enter":
      case " ":
        if (store.state.chosen !== null) store.zoomTo(store.state.chosen);
        return true;
      case "Escape":
        store.set({ zoom: data.parent(store.state.zoom) ?? data.root });
        return true;
      default:
        return false;
    }
  };

  let zoom = store.state.zoom;
  store.subscribe((state, changed) => {
    if (changesAny(changed, "names", "zoom", "shape")) drawPath();
    if (changed.has("zoom")) {
      const before = shown ?? placeOf.get(zoom)!;
      zoom = state.zoom;
      zoomFrom(before);
    } else if (changesAny(changed, "chosen", "hovered", "names", "shape", "level")) redraw();
  });

  drawPath();
  draw();
  return { resize: redraw };
}

function outline(
  context: CanvasRenderingContext2D,
  cell: Cell,
  width: number,
  height: number,
  line: number,
): void {
  const inset = line / 2;
  context.lineWidth = line;
  context.strokeStyle = colorsOf(context.canvas).ink;
  context.strokeRect(
    cell.x0 * width + inset,
    cell.y0 * height + inset,
    Math.max((cell.x1 - cell.x0) * width - line, 1),
    (cell.y1 - cell.y0) * height - line,
  );
}
