/** A finger that stays: what a pointer over a thing is to a mouse. */

const STAYS = 450; // milliseconds
const STILL = 10; // pixels

/** Call `then` when a finger stays where it is. The click that follows is taken away, and so is the menu. */
export function onLongPress(area: HTMLElement, then: (event: PointerEvent) => void): void {
  let timer = 0;
  let begin: PointerEvent | null = null;
  let pressed = false;
  const stop = (): void => {
    window.clearTimeout(timer);
    begin = null;
  };
  area.addEventListener("pointerdown", (event) => {
    stop();
    pressed = false;
    if (event.pointerType === "mouse" || !event.isPrimary) return;
    begin = event;
    timer = window.setTimeout(() => {
      pressed = true;
      begin = null;
      then(event);
    }, STAYS);
  });
  area.addEventListener("pointermove", (event) => {
    if (begin && Math.hypot(event.clientX - begin.clientX, event.clientY - begin.clientY) > STILL) stop();
  });
  area.addEventListener("pointerup", stop);
  area.addEventListener("pointercancel", stop);
  area.addEventListener(
    "click",
    (event) => {
      if (!pressed) return;
      pressed = false;
      event.stopImmediatePropagation();
    },
    { capture: true },
  );
  area.addEventListener("contextmenu", (event) => {
    if (pressed || begin) event.preventDefault();
  });
}
