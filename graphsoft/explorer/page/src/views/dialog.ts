/** Dialogs of the header, each with the button that opens it. */
import { button, element } from "../dom.ts";

export interface Dialog {
  open: HTMLButtonElement;
  dialog: HTMLDialogElement;
}

export function dialogOf(
  title: string,
  open: { text: string; label?: string; title?: string },
  ...parts: HTMLElement[]
): Dialog {
  // the focus goes to the title, since a long dialog would scroll to its button
  const heading = element("h2", { tabindex: -1, autofocus: true }, title);
  const close = button("Close", () => {
    dialog.close();
  });
  const dialog = element("dialog", { "aria-label": title }, heading, ...parts, close);
  const opener = button(
    open.text,
    () => {
      dialog.showModal();
    },
    { "aria-label": open.label, title: open.title },
  );
  return { open: opener, dialog };
}
