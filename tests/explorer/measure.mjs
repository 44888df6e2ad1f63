// Measures one page: seconds from opening it to its first picture and to its map, and frames per second while
// the map is moved. Prints JSON; examples/benchmarks/explorer.py calls it.
import { pathToFileURL } from "node:url";
import { DESK, launched } from "./browser.mjs";

const browser = await launched();
const page = await browser.newPage({ viewport: DESK });
await page.addInitScript(() => {
  // the first picture is there in the frame after the tree was drawn
  const watch = () => {
    if (performance.getEntriesByName("explorer-shown").length) performance.mark("seen");
    else requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
});
await page.goto(pathToFileURL(process.argv[2]).href, { waitUntil: "commit" });
await page.waitForFunction(() => performance.getEntriesByName("seen").length > 0);
const first = await page.evaluate(() => performance.getEntriesByName("seen")[0].startTime / 1000);
await page.waitForFunction(() => {
  const canvas = document.querySelector(".map > canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size > 3;
});
const map = await page.evaluate(() => performance.now() / 1000);
const box = await page.locator(".map").boundingBox();
await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
await page.mouse.down();
const frames = page.evaluate(
  () =>
    new Promise((resolve) => {
      const area = document.querySelector(".map");
      const { left, top, width, height } = area.getBoundingClientRect();
      const begin = performance.now();
      let count = 0;
      const step = (now) => {
        const part = (now - begin) / 500;
        const at = { clientX: left + width / 2 + 80 * Math.sin(part), clientY: top + height / 2 + 60 * Math.cos(part) };
        window.dispatchEvent(new MouseEvent("mousemove", { ...at, view: window, buttons: 1 }));
        count++;
        if (now - begin < 4000) requestAnimationFrame(step);
        else resolve((1000 * count) / (now - begin));
      };
      requestAnimationFrame(step);
    }),
);
console.log(JSON.stringify({ first, map, frames: await frames }));
await browser.close();
