/** Dialogs of the header, each with the button that opens it. */
import { button, element } from "../dom.ts";

export interface Dialog {
  open: HTMLButtonElement;
  dialog: HTMLDialogElement;
}

export function dialogOf(
  name: string,
  open: { text: string; label?: string; title?: string },
  ...parts: HTMLElement[]
): Dialog {
  const close = button("Close", () => {
    dialog.close();
  });
  const dialog = element("dialog", { "aria-label": name }, ...parts, close);
  const opener = button(
    open.text,
    () => {
      dialog.showModal();
    },
    { "aria-label": open.label, title: open.title },
  );
  return { open: opener, dialog };
}
