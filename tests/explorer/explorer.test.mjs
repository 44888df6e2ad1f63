// What a user does with a page, in Chromium: see browser.mjs for how it is watched.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  DESK, PAGES, PHONE, cell, launched, noViolation, onMap, opened, pane, pictured, saved,
} from "./browser.mjs";

let browser;
before(async () => {
  browser = await launched();
});
after(() => browser.close());

const heading = (page) => page.locator(".panel .heading h2").first();

/** How many different colors a canvas shows. */
function colors(page, selector) {
  return page.locator(selector).evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

test("a page opens from disk and shows the tree, the map and what is known", async () => {
  const { page, watched } = await opened(browser, "digits");
  assert.equal(await page.title(), "Digits");
  await cell(page, "2-0").waitFor();
  await page.waitForTimeout(300);
  assert.ok((await colors(page, ".cells canvas")) > 60);
  assert.ok((await colors(page, ".map > canvas")) > 60);
  assert.match(await page.locator("header .title").innerText(), /1,797 points · 60 → 12 → 4 clusters/);
  await pictured(page, "1-opened");
  assert.deepEqual(watched, []);
});

test("the chosen cluster says how stable it is, if that was computed", async () => {
  const { clusters, lost } = JSON.parse(readFileSync(join(PAGES, "network.json"), "utf8"));
  const shaky = lost.indexOf(Math.max(...lost));
  assert.ok(lost[shaky] > 0 && Math.min(...lost) === 0);
  for (const index of [shaky, lost.indexOf(0)]) {
    const { page, watched } = await opened(browser, "network", { fragment: `#cluster=0-${index}` });
    const value = await page.locator(".panel dt", { hasText: "Stability" }).locator("xpath=following-sibling::dd").innerText();
    assert.equal(value, clusters[index].toFixed(2));
    const said = await page.locator(".panel p.faint", { hasText: "Stability" }).innerText();
    assert.ok(said.endsWith(lost[index] ? `lost in ${lost[index]} of them.` : "lost in none of them."), said);
    await pictured(page, `4-stability-${index}`);
    assert.deepEqual(watched, []);
  }
  const { page } = await opened(browser, "cloud", { fragment: "#cluster=0-1" });
  await page.locator(".panel dt", { hasText: "Conductance" }).waitFor();
  assert.equal(await page.getByText("Stability").count(), 0);
});

test("a click chooses in all views, a second one zooms in, and back and undo lead back", async () => {
  const { page, watched } = await opened(browser, "digits");
  await cell(page, "1-2").click();
  await page.waitForFunction(() => location.hash === "#cluster=1-2");
  assert.equal(await heading(page).innerText(), "1-2");
  assert.equal(await page.locator("#level").inputValue(), "1");
  for (const title of ["Parents", "Nearest clusters", "Set apart by", "Labels", "Most central points"]) {
    await page.locator(".panel h3", { hasText: title }).first().waitFor();
  }
  await page.locator(".panel canvas.picture").first().waitFor();
  await pictured(page, "2-chosen");
  await cell(page, "1-2").click();
  await page.waitForFunction(() => location.hash.includes("zoom=1-2"));
  assert.equal(await page.locator(".path button").last().innerText(), "1-2");
  await pictured(page, "3-zoomed");
  await page.goBack();
  await page.waitForFunction(() => location.hash === "#cluster=1-2");
  assert.equal(await page.locator(".path button").count(), 1);
  await page.goBack();
  await page.waitForFunction(() => location.hash === "");
  await page.locator("h2", { hasText: "All points" }).waitFor();
  await page.goForward();
  await page.waitForFunction(() => location.hash === "#cluster=1-2");
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => location.hash === "");
  assert.deepEqual(watched, []);
});

test("keys walk the tree", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.locator(".cells").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector(".cells").getAttribute("aria-activedescendant"));
  assert.equal(await page.locator(".cells").getAttribute("aria-activedescendant"), "cell-2-0");
  for (const [key, cluster] of [["ArrowRight", "2-1"], ["ArrowLeft", "2-0"], ["ArrowDown", "1-0"], ["ArrowUp", "2-0"]]) {
    await page.keyboard.press(key);
    await page.waitForFunction((id) => location.hash.startsWith(`#cluster=${id}`), cluster);
  }
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("zoom=2-0"));
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("zoom"));
  assert.match(await page.locator("[role=status]").innerText(), /curved is chosen/);
  assert.deepEqual(watched, []);
});

test("every control can be reached with the Tab key", async () => {
  const { page } = await opened(browser, "digits");
  const reached = new Set();
  for (let press = 0; press < 40; press++) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => {
      const at = document.activeElement;
      return at.id || at.className || at.getAttribute("aria-label") || at.textContent;
    }));
  }
  for (const name of ["search", "level", "Save names", "About", "cells", "map", "Zoom in", "tab-points"]) {
    assert.ok(reached.has(name), `${name} is not among ${[...reached].join(", ")}`);
  }
});

test("search finds words, texts and clusters, and the keys choose", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.fill("#search", "picture of a 7");
  await page.locator("#found [role=option]").nth(2).waitFor();
  await pictured(page, "4-search");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".point", { hasText: "a picture of a 7" }).waitFor();
  await page.fill("#search", "row 3");
  await page.locator("#found small", { hasText: "row 3" }).first().waitFor();
  await page.fill("#search", "nothing is called this");
  await page.locator("#found", { hasText: "Nothing found" }).waitFor();
  await page.keyboard.press("Escape");
  assert.ok(await page.locator("#found").isHidden());
  await page.fill("#search", "curv");
  await page.locator("#found bdi", { hasText: "curved" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#cluster=2-0"));
  assert.deepEqual(watched, []);
});

test("a cluster is renamed, the address keeps the name, and Python can read all names", async () => {
  const { page, watched } = await opened(browser, "digits");
  await cell(page, "1-2").click();
  await page.locator("#rename").fill("  my <b>own</b> name ");
  await page.keyboard.press("Enter");
  await page.locator(".panel h2", { hasText: "my <b>own</b> name" }).waitFor();
  assert.match(await cell(page, "1-2").innerText(), /my <b>own/);
  const names = await saved(page, "Save names");
  assert.deepEqual(JSON.parse(names.text), { "1-2": "my <b>own</b> name", "2-0": "curved" });
  await pictured(page, "5-renamed");
  await page.reload();
  await page.locator(".panel h2", { hasText: "my <b>own</b> name" }).waitFor();
  assert.deepEqual(watched, []);
});

test("the map is moved and zoomed, and points under the pointer are shown and chosen", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.waitForTimeout(300);
  const picture = () => page.locator(".map > canvas").evaluate((canvas) => canvas.toDataURL());
  const first = await picture();
  await page.mouse.move(...(await onMap(page, 0.5, 0.5)));
  await page.mouse.down();
  await page.mouse.move(...(await onMap(page, 0.6, 0.6)), { steps: 4 });
  await page.mouse.up();
  await page.waitForTimeout(100);
  assert.notEqual(await picture(), first);
  await page.mouse.wheel(0, -300);
  await page.waitForTimeout(100);
  await page.getByRole("button", { name: "Fit" }).click();
  await page.mouse.move(2, 2);
  await page.waitForTimeout(200);
  assert.equal(await picture(), first);
  for (let step = 0; step < 200 && (await page.locator(".map .tip").isHidden()); step++) {
    await page.mouse.move(...(await onMap(page, 0.4 + ((step * 37) % 200) / 1000, 0.3 + ((step * 53) % 200) / 500)));
    await page.waitForTimeout(30);
  }
  await page.locator(".map .tip canvas").waitFor();
  assert.match(await page.locator(".map .tip").innerText(), /point \d+\s+\d.* %.*\s+Label: \d\s+a picture of a \d/);
  await pictured(page, "6-hover");
  await page.mouse.down();
  await page.mouse.up();
  await page.locator(".point h3", { hasText: "Memberships" }).waitFor();
  assert.match(page.url(), /cluster=.*point=\d+/);
  await page.locator(".map").focus();
  for (const key of ["+", "ArrowLeft", "ArrowUp", "-", "0"]) await page.keyboard.press(key);
  await pictured(page, "7-point");
  assert.deepEqual(watched, []);
});

test("the level is chosen with a slider, and the tree becomes a treemap", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.locator("#level").fill("0");
  await page.waitForFunction(() => location.hash === "#level=0");
  assert.equal(await page.locator("output").innerText(), "60 clusters");
  await page.getByRole("button", { name: "treemap" }).click();
  await page.waitForFunction(() => location.hash.includes("shape=treemap"));
  await page.waitForFunction(() => document.querySelectorAll(".cell").length > 30);
  await pictured(page, "8-treemap");
  assert.deepEqual(watched, []);
});

test("dark and light follow the system, or the button", async () => {
  const { page, watched } = await opened(browser, "digits", { colorScheme: "dark" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await pictured(page, "9-dark");
  await page.emulateMedia({ colorScheme: "light" });
  assert.equal(await paper(), "rgb(255, 255, 255)");
  await page.getByRole("button", { name: "Light/dark" }).click();
  assert.equal(await paper(), dark);
  await page.getByRole("button", { name: "Dark" }).click();
  assert.equal(await paper(), "rgb(255, 255, 255)");
  assert.deepEqual(watched, []);
});

test("on a phone the parts are seen one at a time, and nothing is wider than the screen", async () => {
  const { page, watched } = await opened(browser, "digits", { viewport: PHONE, hasTouch: true, fragment: "#cluster=1-2" });
  const parts = [["Tree", ".tree"], ["Maps", ".stage"], ["Cluster", ".panel"]];
  for (const [name, selector] of parts) {
    await pane(page, name);
    for (const [, other] of parts) assert.equal(await page.locator(other).isVisible(), other === selector);
    await pictured(page, `10-phone-${name}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
  }
  assert.deepEqual(watched, []);
});

test("views fit the window after it has changed", async () => {
  const { page, watched } = await opened(browser, "digits");
  for (const size of [{ width: 900, height: 500 }, PHONE, DESK]) {
    await page.setViewportSize(size);
    await page.waitForTimeout(200);
    for (const selector of [".cells", ".map"]) {
      if (!(await page.locator(selector).isVisible())) continue;
      const [area, canvas] = await Promise.all([
        page.locator(selector).boundingBox(),
        page.locator(`${selector} > canvas`).boundingBox(),
      ]);
      assert.ok(Math.abs(area.width - canvas.width) <= 1 && Math.abs(area.height - canvas.height) <= 1);
    }
  }
  assert.deepEqual(watched, []);
});

test("axe finds no violation, in light and dark, with a cluster, a search and what was done open", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, watched } = await opened(browser, "digits", { colorScheme, fragment: "#cluster=1-2&point=5" });
    await page.locator(".point").waitFor();
    await noViolation(page);
    await page.fill("#search", "row");
    await page.locator("#found [role=option]").first().waitFor();
    await noViolation(page);
    await page.getByRole("button", { name: "About" }).click();
    await noViolation(page);
    assert.deepEqual(watched, []);
  }
  const { page } = await opened(browser, "network", { viewport: PHONE });
  await noViolation(page);
});

test("a graph with names and nothing else has what it can have", async () => {
  const { page, watched } = await opened(browser, "network");
  await cell(page, "1-0").click();
  await page.locator(".example", { hasText: "Valjean" }).first().waitFor();
  assert.equal(await page.locator("h3", { hasText: "Set apart by" }).count(), 0);
  await page.fill("#search", "javert");
  await page.locator("#found bdi", { hasText: "Javert" }).click();
  await page.locator(".point h2", { hasText: "Javert" }).waitFor();
  await pictured(page, "11-network");
  assert.deepEqual(watched, []);
});

test("100,000 points in 10,000 clusters are shown and searched", async () => {
  const { page, watched } = await opened(browser, "large");
  await page.waitForTimeout(1500);
  assert.ok((await colors(page, ".cells canvas")) > 100);
  await pictured(page, "12-large");
  await page.fill("#search", "point 99999,");
  await page.locator("#found bdi", { hasText: "p99999" }).click();
  await page.locator(".point h2", { hasText: "p99999" }).waitFor();
  await page.locator("#level").fill("0");
  await page.waitForTimeout(1000);
  await pictured(page, "13-large-finest");
  assert.deepEqual(watched, []);
});
