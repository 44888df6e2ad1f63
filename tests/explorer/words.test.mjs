// Names of clusters and points: whole, apart from each other, and once. And shares as Python rounds them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DESK, PAGES, PHONE, launched, opened, pane, pictured } from "./browser.mjs";

let browser;
before(async () => {
  browser = await launched();
});
after(() => browser.close());

/** Pairs of boxes that cover each other by more than a pixel. */
const covering = (boxes) =>
  boxes.flatMap((a, at) =>
    boxes
      .slice(at + 1)
      .filter((b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
      .map((b) => `${a.text} and ${b.text}`),
  );

/** What the map of points writes on its canvas, and where. */
async function writtenOnMap(page) {
  await page.evaluate(() => {
    window.drawn ??= [];
    if (window.fillText) return;
    window.fillText = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      const half = this.measureText(text).width / 2;
      window.drawn.push({ text, left: x - half, right: x + half, top: y - 6, bottom: y + 6 });
      window.fillText.call(this, text, x, y);
    };
  });
  await page.waitForTimeout(300);
  await page.evaluate(() => window.drawn.splice(0));
  await page.locator(".map").press("ArrowRight");
  await page.waitForTimeout(200);
  return page.evaluate(() => window.drawn);
}

for (const [name, viewport] of [["a desk", DESK], ["a phone", PHONE]]) {
  test(`on ${name} no label of the map is cut or covered`, async () => {
    for (const level of [0, 1, 2]) {
      const { page, watched } = await opened(browser, "wordy", { viewport, fragment: `#level=${level}` });
      if (viewport === PHONE) await pane(page, "Maps");
      const { width, height } = await page.locator(".map").boundingBox();
      const labels = await writtenOnMap(page);
      assert.ok(labels.some(({ text }) => text.startsWith(`${level}-`)) && labels.length > 3);
      const cut = labels.filter(({ left, top, right, bottom }) => left < 0 || top < 0 || right > width || bottom > height);
      assert.deepEqual(cut, []);
      assert.deepEqual(covering(labels), []);
      if (level === 2) assert.equal(labels.filter(({ text }) => text.startsWith("2-")).length, 4, "clusters come before points");
      await pictured(page, `70-map-${viewport.width}-${level}`);
      assert.deepEqual(watched, []);
    }
  });

  test(`on ${name} no name in the flow covers another`, async () => {
    for (const fragment of ["#view=flow", "#view=flow&cluster=1-11", "#view=flow&cluster=0-39"]) {
      const { page, watched } = await opened(browser, "wordy", { viewport, fragment });
      if (viewport === PHONE) await pane(page, "Maps");
      await page.locator(".flow .name").first().waitFor();
      const names = await page.locator(".flow .name").evaluateAll((all) =>
        all.map((each) => {
          const { left, right, top, bottom } = each.getBoundingClientRect();
          return { text: each.textContent, left, right, top: top + 2, bottom: bottom - 2 }; // of the letters
        }),
      );
      assert.ok(names.length > 5);
      assert.deepEqual(covering(names), []);
      await pictured(page, `71-flow-${viewport.width}${fragment.slice(-5)}`);
      assert.deepEqual(watched, []);
    }
  });
}

test("a point has the shares that Python says, and its likeliest cluster says first why it is torn", async () => {
  const { percents } = JSON.parse(readFileSync(join(PAGES, "wordy.json"), "utf8"));
  const share = (row, id) => Number.parseInt(row[id] ?? "0", 10);
  const torn = percents.flatMap((row, at) => (Object.keys(row).length > 1 ? [at] : [])).slice(0, 25);
  const { page, watched } = await opened(browser, "wordy", { fragment: "#level=1" });
  for (const point of torn) {
    await page.evaluate((at) => (location.hash = `level=1&point=${at}`), point);
    await page.locator(".point h2", { hasText: `point ${point},` }).waitFor();
    const shown = await page.locator(".point .row").evaluateAll((rows) => rows.map((row) => row.innerText.replaceAll("\n", " ")));
    for (const [id, percent] of Object.entries(percents[point]))
      assert.ok(shown.some((text) => text.startsWith(`${id} `) && text.endsWith(` ${percent}`)), `${id} ${percent}: ${shown}`);
    const reasons = await page.locator(".point .between .cluster").evaluateAll((all) => all.map((each) => each.innerText.split(" ")[0]));
    const shares = reasons.map((id) => share(percents[point], id));
    assert.deepEqual(shares, shares.toSorted((a, b) => b - a), `${reasons} of point ${point}`);
  }
  await pictured(page, "72-point");
  assert.deepEqual(watched, []);
});

test("a point whose name is its text shows it once", async () => {
  const { page, watched } = await opened(browser, "wordy", { fragment: "#point=7" });
  const text = "the text of point 7, by which it is called";
  await page.locator(".point h2").waitFor();
  assert.equal((await page.locator(".point").innerText()).split(text).length, 2);
  assert.equal(await page.locator(".panel .example p").count(), 0);
  await page.locator("#search").fill("point 7,");
  await page.locator("#found-0").waitFor();
  assert.equal(await page.locator("#found [role=option]").count(), 1);
  assert.deepEqual(watched, []);
});
