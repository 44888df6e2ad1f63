// The map of clusters and the flow between levels, in Chromium: see browser.mjs for how it is watched.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  DESK, PAGES, PHONE, cell, fingers, launched, noViolation, opened, pane, pictured,
} from "./browser.mjs";

let browser;
before(async () => {
  browser = await launched();
});
after(() => browser.close());

const circle = (page, id) => page.locator(`[id="circle-${id}"]`);
const slot = (page, id) => page.locator(`[id="flow-${id}"]`);
const tab = (page, name) => page.getByRole("tab", { name }).click();
const chosen = (page, id) => page.waitForFunction((text) => document.querySelector(".panel dd")?.textContent === text, id);
const hash = (page, part) => page.waitForFunction((text) => decodeURIComponent(location.hash).includes(text), part);

/** The parts of all clusters in those above them, in percent. */
const shares = (page) =>
  page
    .locator(".slot:not(.folded)")
    .evaluateAll((slots) =>
      slots.flatMap((slot) => [...slot.getAttribute("aria-label").matchAll(/([\d.]+) % in/g)].map(([, share]) => Number(share))),
    );

test("bands say what part of a cluster is in each one above, as h.flow does", async () => {
  const { page, watched } = await opened(browser, "cloud");
  await tab(page, "Flow");
  await slot(page, "1-3").waitFor();
  const bands = await page.locator(".band").count();
  assert.ok(bands > 60, `${bands} bands`);
  const { flow } = JSON.parse(readFileSync(join(PAGES, "cloud.json"), "utf8"));
  for (const [index, row] of flow.entries()) {
    const label = await slot(page, `1-${index}`).getAttribute("aria-label");
    assert.match(label, new RegExp(`^1-${index}, \\d+ points, [\\d.]+ % of the mass, `));
    for (const [above, share] of row.entries()) {
      const said = new RegExp(`([\\d.]+) % in 2-${above}`).exec(label);
      assert.ok(said ? Math.abs(said[1] / 100 - share) < 0.0051 : share < 0.02, `${label}: ${share} in 2-${above}`);
    }
  }
  assert.ok((await shares(page)).filter((share) => share < 50).length > 30, "second bands are seen");
  await slot(page, "1-3").locator("rect").hover();
  assert.ok((await page.locator(".band.lit").count()) > 3);
  assert.match(await page.locator(".tip:not([hidden])").innerText(), /^1-3, \d+ points/);
  const box = await slot(page, "1-5").locator("rect").boundingBox();
  await page.mouse.move(box.x + 150, box.y + box.height / 2);
  assert.match(await page.locator(".tip:not([hidden])").innerText(), /^\d+ % of 1-5 is in 2-1$/);
  await pictured(page, "30-flow");
  assert.ok((await shares(page)).length >= 20);
  await page.locator("#least").fill("50");
  await hash(page, "least=50");
  await page.waitForFunction(() => document.querySelector("#least + output").textContent === "50 %");
  assert.deepEqual((await shares(page)).filter((share) => share < 50), []);
  assert.deepEqual(watched, []);
});

test("a choice in the flow is seen in all views, and the other way round", async () => {
  const { page, watched } = await opened(browser, "cloud", { fragment: "#view=flow" });
  await slot(page, "1-3").locator("rect").click();
  await chosen(page, "1-3");
  assert.equal(await slot(page, "1-3").getAttribute("aria-selected"), "true");
  assert.equal(await cell(page, "1-3").getAttribute("aria-selected"), "true");
  await pictured(page, "31-flow-chosen");
  await cell(page, "2-1").click();
  await page.waitForFunction(() => document.getElementById("flow-2-1").getAttribute("aria-selected") === "true");
  await cell(page, "2-1").click();
  await hash(page, "zoom=2-1");
  await slot(page, "others-0").waitFor();
  assert.match(await slot(page, "others-0").getAttribute("aria-label"), /^others, [\d.]+ % of 1-\d comes from others/);
  await pictured(page, "32-flow-zoomed");
  await page.getByRole("button", { name: "Zoom out" }).click();
  await page.waitForFunction(() => !location.hash.includes("zoom"));
  await page.goBack();
  await hash(page, "zoom=2-1");
  assert.deepEqual(watched, []);
});

test("keys walk the flow along a level and between levels", async () => {
  const { page, watched } = await opened(browser, "cloud", { fragment: "#view=flow" });
  await slot(page, "2-0").waitFor();
  await page.locator(".flow").focus();
  const presses = [["ArrowDown", "2-0"], ["ArrowDown", "2-1"], ["ArrowLeft", "1-5"], ["ArrowDown", "1-6"], ["ArrowUp", "1-5"], ["ArrowRight", "2-1"]];
  for (const [key, id] of presses) {
    await page.keyboard.press(key);
    await chosen(page, id);
    await page.waitForFunction((name) => document.querySelector(".flow").getAttribute("aria-activedescendant") === `flow-${name}`, id);
  }
  await page.keyboard.press("Enter");
  await hash(page, "zoom=2-1");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("zoom"));
  assert.deepEqual(watched, []);
});

test("10,000 clusters are folded, the chosen one is not, and folds lead further in", async () => {
  const { page, watched } = await opened(browser, "large", { fragment: "#view=flow&cluster=0-5000" });
  await slot(page, "0-5000").waitFor();
  assert.ok((await page.locator(".slot").count()) < 500);
  await pictured(page, "33-flow-large");
  await page.locator(".folded rect").first().click();
  await hash(page, "zoom=");
  await pictured(page, "34-flow-large-zoomed");
  assert.deepEqual(watched, []);
});

test("clusters open in their map, and close again, by the pointer, the button and the back button", async () => {
  const { page, watched } = await opened(browser, "digits", { fragment: "#view=clusters" });
  await circle(page, "2-0").waitFor();
  const middle = async (id) => {
    const box = await circle(page, id).boundingBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  await pictured(page, "40-clusters");
  await page.mouse.dblclick(...(await middle("2-0")));
  await hash(page, "open=2-0");
  await chosen(page, "2-0");
  await circle(page, "1-3").waitFor();
  assert.match(await circle(page, "2-0").getAttribute("aria-label"), /^curved, 1,2\d\d points, 6\d % of the mass, 8 clusters inside, open$/);
  await page.mouse.click(...(await middle("1-3")));
  await chosen(page, "1-3");
  assert.equal(await page.locator("#level").inputValue(), "2");
  assert.equal(await cell(page, "1-3").getAttribute("aria-selected"), "true");
  await pictured(page, "41-clusters-open");
  await page.getByRole("button", { name: "Open" }).click();
  await circle(page, "0-19").waitFor();
  await pictured(page, "42-clusters-open-twice");
  await page.reload();
  await circle(page, "1-3").waitFor();
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("1-3,") && !document.getElementById("circle-0-19"));
  await page.getByRole("button", { name: "Fit" }).click();
  await cell(page, "1-8").click();
  await page.waitForFunction(() => document.getElementById("circle-1-8")?.getAttribute("aria-selected") === "true");
  assert.deepEqual(watched, []);
});

test("keys walk the map of clusters, open and close", async () => {
  const { page, watched } = await opened(browser, "digits", { fragment: "#view=clusters" });
  await circle(page, "2-0").waitFor();
  await page.locator(".map").focus();
  await page.keyboard.press("ArrowRight");
  await chosen(page, "2-0");
  assert.equal(await page.locator(".map").getAttribute("aria-activedescendant"), "circle-2-0");
  // in some direction there is another circle, and from there a way back
  for (const [there, back] of [["ArrowLeft", "ArrowRight"], ["ArrowRight", "ArrowLeft"], ["ArrowUp", "ArrowDown"], ["ArrowDown", "ArrowUp"]]) {
    await page.keyboard.press(there);
    if ((await page.locator(".panel dd").first().textContent()) === "2-0") continue;
    await page.keyboard.press(back);
    break;
  }
  await chosen(page, "2-0");
  await page.keyboard.press("Enter");
  await circle(page, "1-3").waitFor();
  await page.keyboard.press("ArrowUp");
  await hash(page, "cluster=1-");
  for (const key of ["+", "-", "0"]) await page.keyboard.press(key);
  await page.keyboard.press("Escape");
  await chosen(page, "2-0");
  await page.waitForFunction(() => !location.hash.includes("open"));
  await page.keyboard.press("Escape");
  await page.locator("h2", { hasText: "All points" }).waitFor();
  assert.deepEqual(watched, []);
});

test("the map of clusters is moved and zoomed, shows what is under the pointer, and stays there on another level", async () => {
  const { page, watched } = await opened(browser, "large", { fragment: "#view=clusters&level=1" });
  await page.locator(".items div").first().waitFor();
  const box = await page.locator(".map").boundingBox();
  const at = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(...at);
  await page.mouse.wheel(0, -600);
  await page.mouse.down();
  await page.mouse.move(at[0] + 20, at[1] + 10, { steps: 3 });
  await page.mouse.up();
  await page.waitForTimeout(300);
  assert.equal(await page.locator(".panel dd").count(), 0, "a drag chooses nothing");
  for (let step = 0; step < 80 && (await page.locator(".tip:not([hidden])").isHidden()); step++) {
    await page.mouse.move(at[0] + ((step * 37) % 200) - 100, at[1] + ((step * 53) % 200) - 100);
    await page.waitForTimeout(30);
  }
  assert.match(await page.locator(".tip:not([hidden])").innerText(), /^1-\d+, \d+ points?, .* of the mass, \d+ clusters? inside$/);
  await pictured(page, "43-clusters-large");
  await page.locator("#level").fill("0");
  await page.waitForFunction(() => document.querySelector(".items div")?.id.startsWith("circle-0-"));
  await pictured(page, "44-clusters-large-finest");
  assert.deepEqual(watched, []);
});

test("both views fit the window, dark paper and a phone, and axe finds no violation in them", async () => {
  for (const [view, area] of [["clusters", ".map > canvas"], ["flow", ".flow svg"]]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, watched } = await opened(browser, "cloud", { colorScheme, fragment: `#view=${view}&cluster=1-3&level=1` });
      await page.locator(`[id$="-1-3"][aria-selected=true]`).last().waitFor();
      await noViolation(page);
      await pictured(page, `50-${view}-${colorScheme}`);
      for (const size of [{ width: 900, height: 500 }, PHONE, DESK]) {
        await page.setViewportSize(size);
        await page.waitForTimeout(200);
        if (size === PHONE) await pane(page, "Maps");
        await page.waitForTimeout(100);
        const [outer, inner] = [
          await page.locator(view === "flow" ? ".flow" : ".map").boundingBox(),
          await page.locator(area).boundingBox(),
        ];
        assert.ok(Math.abs(outer.width - inner.width) <= 1 && Math.abs(outer.height - inner.height) <= 1);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= size.width);
        if (size === PHONE) {
          await noViolation(page);
          await pictured(page, `51-${view}-phone-${colorScheme}`);
        }
      }
      assert.deepEqual(watched, []);
    }
  }
});

test("on a phone a tap chooses, and the button opens", async () => {
  const { page, watched } = await opened(browser, "network", { viewport: PHONE, hasTouch: true, fragment: "#view=clusters" });
  await pane(page, "Maps");
  await circle(page, "1-0").waitFor();
  const box = await circle(page, "1-0").boundingBox();
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
  await hash(page, "cluster=1-0");
  await page.getByRole("button", { name: "Open" }).tap();
  await circle(page, "0-1").waitFor();
  await pictured(page, "52-clusters-phone-open");
  await tab(page, "Flow");
  await slot(page, "0-2").locator("rect").tap();
  await hash(page, "cluster=0-2");
  await pictured(page, "53-flow-phone");
  assert.deepEqual(watched, []);
});

test("a long press on a circle says what it is, and a tap chooses it", async () => {
  const { page, watched } = await opened(browser, "digits", { viewport: PHONE, hasTouch: true, isMobile: true, fragment: "#view=clusters" });
  await pane(page, "Maps");
  await circle(page, "2-0").waitFor();
  const touch = await fingers(page);
  const box = await circle(page, "2-0").boundingBox();
  const place = [box.x + box.width / 2, box.y + box.height / 2];
  await touch("touchStart", place);
  await page.waitForTimeout(600);
  assert.match(await page.locator(".view .tip").innerText(), /^curved, 1,2\d\d points, .*, 8 clusters inside$/);
  await pictured(page, "54-clusters-phone-press");
  await noViolation(page);
  await touch("touchEnd");
  await page.waitForTimeout(100);
  assert.equal(new URL(page.url()).hash, "#view=clusters");
  await page.touchscreen.tap(...place);
  await hash(page, "cluster=2-0");
  assert.ok(await page.locator(".view .tip").isHidden());
  assert.deepEqual(watched, []);
});

test("in high contrast, circles that are not chosen have faint colors of their own", async () => {
  const { page, watched } = await opened(browser, "cloud", { forcedColors: "active", fragment: "#view=clusters" });
  await circle(page, "2-0").waitFor();
  await page.evaluate(() => {
    window.filled = new Set();
    const fill = CanvasRenderingContext2D.prototype.fill;
    CanvasRenderingContext2D.prototype.fill = function () {
      window.filled.add(this.fillStyle);
      fill.call(this);
    };
  });
  await page.locator(".map").press("ArrowRight");
  await chosen(page, "2-0");
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.filled.size), 5);
  assert.deepEqual(watched, []);
});

test("hostile names are shown as they are, and harm nothing", async () => {
  for (const [view, prefix] of [["clusters", "circle"], ["flow", "flow"]]) {
    const { page, watched } = await opened(browser, "hostile", { fragment: `#view=${view}&level=0&open=0-0,${encodeURIComponent("<b>")}&least=x` });
    await page.locator(`[id="${prefix}-0-1"]`).waitFor();
    const labels = await page.locator(`[id^="${prefix}-0-"]`).evaluateAll((found) => found.map((each) => each.getAttribute("aria-label")));
    assert.ok(labels.some((label) => label.startsWith("<img src=x onerror=alert(2)>, ")));
    const box = await page.locator(".view").boundingBox();
    for (let step = 0; step < 40; step++) {
      await page.mouse.move(box.x + ((step * 97) % box.width), box.y + 40 + ((step * 61) % (box.height - 40)));
      await page.waitForTimeout(15);
    }
    await pictured(page, `60-${view}-hostile`);
    assert.deepEqual(watched, []);
  }
});
