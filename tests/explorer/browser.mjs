// Opens pages of the explorer in the installed Chromium, and keeps watch: a request, an error or an alert fails
// the test. Pictures are taken into the folder EXPLORER_PICTURES, if that is set.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
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

/** Nothing on the page is hard to use for those who cannot see it, as far as axe can tell. */
export async function noViolation(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => window.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
}
