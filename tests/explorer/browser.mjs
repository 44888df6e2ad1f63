// Opens pages of the explorer in the installed Chromium, and keeps watch: a request, an error or an alert fails
// the test. Pictures are taken into the folder EXPLORER_PICTURES, if that is set.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const inPage = createRequire(new URL("../../graphsoft/explorer/page/package.json", import.meta.url));
const { chromium } = inPage("playwright-core");
const axeSource = inPage("axe-core").source;

export const PAGES = process.env.EXPLORER_PAGES ?? "out/explorer";
const PICTURES = process.env.EXPLORER_PICTURES;
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** A browser for the tests of one file. */
export async function launched() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
}

/** Open a page of the folder; `watched` collects what must stay empty. */
export async function opened(browser, name, { viewport = DESK, fragment = "", ...options } = {}) {
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", acceptDownloads: true, ...options });
  const page = await context.newPage();
  const watched = [];
  const address = pathToFileURL(join(PAGES, `${name}.html`)).href;
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !url.startsWith("blob:") && !url.startsWith("data:")) watched.push(`request of ${url}`);
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) watched.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => watched.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    watched.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address + fragment);
  await page.waitForFunction(() => performance.getEntriesByName("explorer-shown").length > 0);
  return { page, watched };
}

/** Take a picture, for people to look at. */
export async function pictured(page, name) {
  if (!PICTURES) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.waitForTimeout(150);
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

export const cell = (page, id) => page.locator(`[id="cell-${id}"]`);

/** A place on the map, in parts of its width and height; in whole pixels, as a click has it. */
export async function onMap(page, x, y) {
  const box = await page.locator(".map").boundingBox();
  return [Math.round(box.x + box.width * x), Math.round(box.y + box.height * y)];
}

/** Fingers, as Chromium has them from a touch screen. */
export async function fingers(page) {
  const session = await page.context().newCDPSession(page);
  return (type, ...places) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints: places.map(([x, y], id) => ({ x, y, id })) });
}

/** Draw a line around a part of the map, whose corners are parts of its width and height. */
export async function lasso(page, corners, during = async () => undefined) {
  await page.mouse.move(...(await onMap(page, ...corners[0])));
  await page.mouse.down();
  for (const corner of [...corners.slice(1), corners[0]]) await page.mouse.move(...(await onMap(page, ...corner)), { steps: 5 });
  await during();
  await page.mouse.up();
}

export const WHOLE = [[0.001, 0.001], [0.999, 0.001], [0.999, 0.999], [0.001, 0.999]];

/** Choose one of the parts that a phone shows one at a time. */
export async function pane(page, name) {
  await page.locator(".panes").getByRole("button", { name }).click();
}

/** The text of a file that a button saves. */
export async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}

/** What axe finds against the rules of accessibility, in the state that the page is in. */
export async function violations(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const found = await page.evaluate(() => window.axe.run());
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

/** Nothing on the page is hard to use for those who cannot see it, as far as axe can tell. */
export async function noViolation(page) {
  assert.deepEqual(await violations(page), []);
}
