// The map of points and the table of labels: selecting points, saving them, colors, labels of clusters, fingers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DESK, PAGES, PHONE, WHOLE, cell, fingers, lasso, launched, onMap, opened, pane, pictured, saved } from "./browser.mjs";

let browser;
before(async () => {
  browser = await launched();
});
after(() => browser.close());

const bar = (page) => page.locator(".selection");
const count = async (page) => Number((await bar(page).locator("strong").innerText()).split(" ")[0].replace(",", ""));
const picture = (page) => page.locator(".map > canvas").evaluate((canvas) => canvas.toDataURL());

test("a lasso selects the points within its line, until they are cleared", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.waitForTimeout(300);
  const first = await picture(page);
  await page.getByRole("button", { name: "Lasso" }).click();
  await lasso(page, [[0.4, 0.2], [0.6, 0.2], [0.6, 0.6], [0.4, 0.6]], () => pictured(page, "30-lasso"));
  await bar(page).waitFor();
  const some = await count(page);
  assert.ok(some > 50 && some < 1000, String(some));
  assert.equal(await page.locator("[role=status]").innerText(), `${some} points selected`);
  await pictured(page, "31-lassoed");
  await lasso(page, WHOLE);
  assert.equal(await count(page), 1797);
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await count(page), some);
  await page.getByRole("button", { name: "Clear" }).click();
  assert.ok(await bar(page).isHidden());
  await page.getByRole("button", { name: "Lasso" }).click();
  await page.mouse.move(2, 2);
  await page.waitForTimeout(200);
  assert.equal(await picture(page), first);
  await page.keyboard.down("Shift");
  await lasso(page, WHOLE);
  await page.keyboard.up("Shift");
  assert.equal(await count(page), 1797);
  assert.deepEqual(watched, []);
});

test("Escape gives up a line, and a line around nothing selects nothing", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.locator(".map").focus();
  await page.keyboard.down("Shift");
  await lasso(page, WHOLE, () => page.keyboard.press("Escape"));
  assert.ok(await bar(page).isHidden());
  await lasso(page, [[0.001, 0.001], [0.02, 0.001], [0.02, 0.02]]);
  assert.ok(await bar(page).isHidden());
  await page.keyboard.up("Shift");
  assert.deepEqual(watched, []);
});

test("with keys alone, the points of a cluster are selected and saved as a table", async () => {
  const { page, watched } = await opened(browser, "digits", { fragment: "#cluster=2-1" });
  await page.getByRole("button", { name: "Select its points" }).press("Enter");
  await bar(page).waitFor();
  const { name, text } = await saved(page, "Save CSV");
  assert.equal(name, "points.csv");
  const [header, ...rows] = text.trimEnd().split("\n");
  const levels = [0, 1, 2].map((level) => `"level_${level}","cluster_${level}","probabilities_${level}"`);
  assert.equal(header, `"name","text","label",${levels.join(",")}`);
  assert.equal(rows.length, await count(page));
  const chances = (level) => `"${level}-\\d+ [01]\\.\\d{3}(; ${level}-\\d+ 0\\.\\d{3})*"`;
  const finer = [0, 1].map((level) => `\\d+,"${level}-\\d+",${chances(level)}`);
  const pattern = new RegExp(`^\\d+,"a picture of a \\d","\\d",${finer.join(",")},1,"2-1",${chances(2)}$`);
  for (const row of rows) assert.match(row, pattern);
  assert.deepEqual(watched, []);
});

test("a table of hostile points is the one that Python writes", async () => {
  const { page, watched } = await opened(browser, "hostile");
  await page.getByRole("button", { name: "Lasso" }).click();
  await lasso(page, WHOLE);
  const { text } = await saved(page, "Save CSV");
  const rows = text.split("\n");
  const python = readFileSync(join(PAGES, "hostile.csv"), "utf8").split("\n");
  assert.equal(rows.length, python.length);
  for (const [at, row] of python.entries()) {
    const [, name, label] = /^("(?:[^"]|"")*"),("(?:[^"]|"")*")$/.exec(row) ?? [null, "", ""];
    assert.ok(rows[at].startsWith(name), rows[at].slice(0, 80));
    assert.ok(rows[at].includes(label));
  }
  assert.ok(text.includes(`"'=HYPERLINK(""https://example.com"")"`) && text.includes(`"-1"`));
  assert.deepEqual(watched, []);
});

test("labels count in the clusters of the level, and a cell selects its points", async () => {
  const { page, watched } = await opened(browser, "digits", { fragment: "#level=1" });
  await page.getByRole("tab", { name: "Labels" }).click();
  await page.waitForFunction(() => location.hash.includes("view=labels"));
  const table = page.getByRole("grid");
  await table.waitFor();
  assert.equal(await table.getByRole("rowheader").count(), 12);
  assert.equal(await table.getByRole("columnheader").count(), 13);
  const numbers = await table.locator("td[title]").allInnerTexts();
  assert.equal(numbers.reduce((sum, each) => sum + Number(each), 0), 1797);
  assert.match(await page.locator(".confusion p").innerText(), /^Purity 9\d %/);
  const first = table.locator("tbody tr").first().locator("td[title]").first();
  await first.click();
  assert.equal(await count(page), Number(await first.innerText()));
  await pictured(page, "32-labels");
  // the same with keys: to the right, back, and down to another cluster
  await first.focus();
  for (const key of ["ArrowRight", "ArrowLeft", "Home", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await page.waitForFunction(() => location.hash.includes("cluster=1-1"));
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "rowheader");
  await page.keyboard.press("Home");
  for (let press = 0; press < 20; press++) await page.keyboard.press("ArrowUp");
  for (const key of ["ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  assert.ok((await count(page)) > 150); // all points of one label
  await page.getByRole("button", { name: "Show on the map" }).click();
  await page.locator(".map").waitFor();
  assert.deepEqual(watched, []);
});

test("the map is colored by labels, with a legend, if one wants", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.waitForTimeout(300);
  const before = await picture(page);
  const button = page.getByRole("button", { name: "Color by label" });
  await button.click();
  await page.locator(".legend").waitFor();
  assert.equal(await page.locator(".legend li").count(), 10);
  await page.mouse.move(2, 2);
  await page.waitForTimeout(200);
  assert.notEqual(await picture(page), before);
  await page.reload();
  await page.locator(".legend").waitFor();
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  await pictured(page, "33-colors");
  const other = await opened(browser, "network");
  assert.ok(await other.page.getByRole("button", { name: "Color by label" }).isHidden());
  assert.equal(await other.page.getByRole("tab", { name: "Labels" }).count(), 0);
  assert.deepEqual(watched, []);
});

test("labels of clusters stay where they are while the map is moved", async () => {
  const { page, watched } = await opened(browser, "digits", { fragment: "#level=0" });
  // notes every text that is drawn, and where
  await page.evaluate(() => {
    window.drawn = new Map();
    const fill = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      window.drawn.set(text, [x, y]);
      fill.call(this, text, x, y);
    };
  });
  const labels = async () => {
    await page.evaluate(() => window.drawn.clear());
    await page.locator(".map").press("ArrowRight");
    await page.waitForTimeout(100);
    return page.evaluate(() => [...window.drawn]);
  };
  await page.locator(".map").focus();
  for (const key of ["+", "+", "+"]) await page.keyboard.press(key);
  await labels();
  const before = new Map(await labels());
  const after = new Map(await labels());
  const { width } = await page.locator(".map").boundingBox();
  const well = [...before].filter(([, [x]]) => x > 150 && x < width - 150);
  assert.ok(well.length > 5);
  for (const [text, [x, y]] of well) {
    assert.ok(after.has(text), `${text} vanished`);
    assert.ok(Math.abs(after.get(text)[0] - x + 60) < 1e-6 && after.get(text)[1] === y);
  }
  const few = (await labels()).length;
  for (const key of ["+", "+", "+", "+"]) await page.keyboard.press(key);
  assert.ok((await labels()).length !== few);
  assert.deepEqual(watched, []);
});

test("Enter on the map chooses the point in the middle, and its card is there", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.locator(".map").focus();
  await page.waitForTimeout(200);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /point=\d+/.test(location.hash));
  await page.locator(".map .tip strong").waitFor();
  await page.keyboard.press("Escape");
  assert.ok(await page.locator(".map .tip").isHidden());
  assert.deepEqual(watched, []);
});

test("the most torn point is listed, and the points next to it say why it is torn", async () => {
  const { page, watched } = await opened(browser, "digits");
  const section = page.locator(".panel h3", { hasText: "Most torn points" });
  await section.waitFor();
  await page.locator(".panel .example button").first().click();
  await page.locator(".point h3", { hasText: "Why it is torn" }).waitFor();
  assert.ok((await page.locator(".point .between").count()) >= 2);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H2");
  await pictured(page, "34-torn");
  assert.deepEqual(watched, []);
});

test("on a phone, fingers tap, press, pinch and draw a lasso", async () => {
  const { page, watched } = await opened(browser, "digits", { viewport: PHONE, hasTouch: true, isMobile: true });
  await pane(page, "Maps");
  await page.waitForTimeout(400);
  const touch = await fingers(page);
  const middle = await onMap(page, 0.5, 0.5);

  await page.touchscreen.tap(...middle);
  await page.waitForFunction(() => /point=\d+/.test(location.hash));
  await page.locator(".map .tip strong").waitFor();
  await pictured(page, "35-phone-tap");
  await page.getByRole("button", { name: "Undo" }).click();

  const before = page.url();
  await page.getByRole("button", { name: "Fit" }).click();
  await touch("touchStart", middle);
  await page.waitForTimeout(600);
  await page.locator(".map .tip strong").waitFor();
  await touch("touchEnd");
  await page.waitForTimeout(100);
  assert.equal(page.url(), before, "a long press only looks");

  const first = await picture(page);
  const [x, y] = middle;
  await touch("touchStart", [x - 30, y], [x + 30, y]);
  for (const apart of [40, 60, 80, 100]) await touch("touchMove", [x - apart, y], [x + apart, y]);
  await touch("touchEnd");
  await page.waitForTimeout(200);
  assert.notEqual(await picture(page), first);
  assert.equal(page.url(), before);
  await page.getByRole("button", { name: "Fit" }).click();

  await page.getByRole("button", { name: "Lasso" }).tap();
  const corners = await Promise.all(WHOLE.map((corner) => onMap(page, ...corner)));
  await touch("touchStart", corners[0]);
  for (const corner of corners.slice(1)) await touch("touchMove", corner);
  await touch("touchEnd");
  await bar(page).waitFor();
  assert.equal(await count(page), 1797);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
  await pictured(page, "36-phone-lasso");
  assert.deepEqual(watched, []);
});

test("a long press on a cell of the tree says what it is, and a tap chooses it", async () => {
  const { page, watched } = await opened(browser, "digits", { viewport: PHONE, hasTouch: true, isMobile: true });
  const touch = await fingers(page);
  await cell(page, "2-1").waitFor();
  const box = await page.locator(".cells").boundingBox();
  const place = [box.x + box.width * 0.99, box.y + box.height * 0.95];
  await touch("touchStart", place);
  await page.waitForTimeout(600);
  assert.match(await page.locator(".cells .tip").innerText(), /^0-59\n+\d+ points, \d/);
  await touch("touchEnd");
  await page.waitForTimeout(100);
  assert.equal(new URL(page.url()).hash, "");
  await page.touchscreen.tap(...place);
  await page.waitForFunction(() => location.hash === "#cluster=0-59");
  assert.deepEqual(watched, []);
});

test("what is in the middle of the map stays there when the window changes", async () => {
  const { page, watched } = await opened(browser, "digits", { fragment: "#point=100" });
  await page.locator(".map").focus();
  for (let press = 0; press < 6; press++) await page.keyboard.press("+");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !location.hash.includes("point=100&") && /point=/.test(location.hash));
  const chosen = page.url();
  await page.setViewportSize({ width: 1000, height: 600 });
  await page.waitForTimeout(300);
  await page.setViewportSize(DESK);
  await page.waitForTimeout(300);
  await page.locator(".map").press("Enter");
  await page.waitForTimeout(200);
  assert.equal(page.url(), chosen);
  assert.deepEqual(watched, []);
});
