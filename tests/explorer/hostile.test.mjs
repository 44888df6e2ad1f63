// Names, texts, labels, features, the title and names of clusters are data: never run, never fetched, and shown
// as they are.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PAGES, launched, opened, pictured } from "./browser.mjs";

const { texts, clusters } = JSON.parse(readFileSync(join(PAGES, "hostile.json"), "utf8"));
let browser;
before(async () => {
  browser = await launched();
});
after(() => browser.close());

// CSS and layout may show white space in another way; letters must be the same
const texted = (locator) => locator.evaluateAll((found) => found.map((each) => each.textContent));

test("nothing in any field runs or is fetched, wherever it is shown", async () => {
  const { page, watched } = await opened(browser, "hostile");
  assert.equal(await page.locator("h1").textContent(), texts.join(""));
  const allowed = new Set(["BODY", "HEADER", "MAIN", "NAV", "DIV", "NOSCRIPT", "SCRIPT"]);
  const tags = await page.evaluate(() => [...document.body.children].map((each) => each.tagName));
  assert.deepEqual(tags.filter((tag) => !allowed.has(tag)), []);
  const seen = new Set();
  for (let cluster = 0; cluster < clusters; cluster++) {
    const id = cluster < 6 ? `0-${cluster}` : `1-${cluster - 6}`;
    await page.evaluate((name) => { location.hash = `cluster=${name}`; }, id);
    await page.waitForFunction((name) => document.querySelector(".panel dd")?.textContent === name, id);
    assert.equal(await page.locator(".panel h2").textContent(), texts[cluster]);
    for (const text of await texted(page.locator(".feature"))) seen.add(text);
  }
  const known = new Set(texts);
  assert.deepEqual([...seen].filter((text) => !known.has(text)), []);
  assert.ok(seen.size > texts.length / 2);
  for (let point = 0; point < texts.length; point++) {
    await page.evaluate((at) => { location.hash = `point=${at}`; }, point);
    const name = page.locator(".point h2");
    await page.waitForFunction((text) => document.querySelector(".point h2")?.textContent === text, texts[point]);
    assert.equal(await name.textContent(), texts[point]);
    const text = texts[(point + 1) % texts.length];
    if (text.length < 1000) assert.equal(await page.locator(".point .text").textContent(), text);
    assert.equal(await page.locator(".point > p[dir]").last().textContent(), `Label: ${texts[point]}`);
  }
  await pictured(page, "20-hostile");
  assert.deepEqual(watched, []);
});

test("hostile texts can be searched, typed, and given as names", async () => {
  const { page, watched } = await opened(browser, "hostile");
  for (const text of texts) {
    const typed = text.replace(/[\0-\x1f]/g, "").slice(0, 100);
    await page.fill("#search", typed);
    await page.locator("#found [role=option]").first().waitFor();
  }
  await page.keyboard.press("Escape");
  await page.evaluate(() => { location.hash = "cluster=1-0"; });
  await page.locator("#rename").waitFor();
  for (const text of texts.slice(0, 8)) {
    const typed = text.replace(/[\u2028\u2029\0-\x1f]/g, "");
    await page.locator("#rename").fill(typed);
    await page.keyboard.press("Enter");
    await page.waitForFunction((name) => document.querySelector(".panel h2").textContent === name, typed);
  }
  await page.reload();
  await page.locator("#rename").waitFor();
  assert.deepEqual(watched, []);
});

test("points under the pointer and hostile fragments do no harm", async () => {
  const fragments = texts.map((text) => encodeURIComponent(text.toWellFormed?.() ?? text));
  const { page, watched } = await opened(browser, "hostile", {
    fragment: `#cluster=${fragments[0]}&search=${fragments[1]}&names=${encodeURIComponent(JSON.stringify({ "0-0": texts[1], "__proto__": texts[0] }))}`,
  });
  const box = await page.locator(".map").boundingBox();
  for (let step = 0; step < 60; step++) {
    await page.mouse.move(box.x + ((step * 97) % box.width), box.y + ((step * 61) % box.height));
    await page.waitForTimeout(15);
  }
  await pictured(page, "21-hostile-map");
  assert.deepEqual(watched, []);
});

test("the policy of the page stops what is put into it by other means", async () => {
  const { page, watched } = await opened(browser, "hostile");
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    const image = document.createElement("img");
    image.src = "https://example.com/x.png";
    document.body.append(image);
  });
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  const refused = watched.filter((each) => /violates the following Content Security Policy/.test(each));
  assert.equal(refused.length, 2, String(watched));
});
