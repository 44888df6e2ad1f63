// Measures how many seconds after it is opened a page shows a picture that stays: node finished_picture.mjs PAGE
// [FOLDER]. What the page asks of unpkg.com comes from the node_modules in FOLDER, and all else is refused, so
// that no network is measured. Chromium draws WebGL without a graphics card.
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../../graphsoft/explorer/page/package.json", import.meta.url))("playwright-core");
const [path, folder] = process.argv.slice(2);
const SAME = 4; // pictures in a row
const TIMEOUT = 60_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
let fetched = 0;
await page.route(/^https?:/, async (route) => {
  // https://unpkg.com/name@version/path
  const [, name, file] = /^https:\/\/unpkg\.com\/((?:@[^/]+\/)?[^@/]+)@[^/]*\/(.*)$/.exec(route.request().url()) ?? [];
  if (!name || !folder) return route.abort();
  const body = await readFile(join(folder, "node_modules", name, file));
  fetched += body.length;
  return route.fulfill({ body, contentType: "text/javascript" });
});
const begin = performance.now();
await page.goto(pathToFileURL(path).href, { waitUntil: "commit" });
let picture = null;
let first = 0;
let same = 0;
while (same < SAME && performance.now() - begin < TIMEOUT) {
  const next = await page.screenshot({ animations: "allow" });
  // an empty page is a small file, and no picture yet
  if (picture && next.equals(picture) && next.length > 15_000) same++;
  else [picture, first, same] = [next, (performance.now() - begin) / 1000, 0];
}
if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
console.log(JSON.stringify({ finished: same === SAME ? first : null, fetched }));
await browser.close();
