import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Browser, Page } from 'playwright-core';
import { AppModule, slidingWindowOptions } from '../../sample-app/app.module.js';
import { SLIDING_WINDOW_OPTIONS } from '../../lib/sliding-window.module-definition.js';
import { executablePath, openBrowser, screenshot } from '../support/browser.js';
import { redisClient } from '../support/app.js';

const ALGORITHMS = ['sliding-log', 'fixed-window', 'sliding-counter', 'token-bucket'];

if (executablePath === undefined) {
  process.stderr.write('browser tests not executed: no Chromium found, see CHROMIUM_PATH\n');
}
const describeWithBrowser = executablePath === undefined ? describe.skip : describe;

describeWithBrowser.each(['in process', 'on Redis'])('the live page, %s', (store) => {
  const redisUrl = process.env.REDIS_URL!;
  let browser: Browser;
  let app: INestApplication;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
  }, 30_000);
  afterAll(() => browser?.close());

  beforeEach(async () => {
    const redis = redisClient();
    await redis.flushdb();
    redis.disconnect();
    const builder = Test.createTestingModule({ imports: [AppModule] });
    const options = slidingWindowOptions();
    builder
      .overrideProvider(SLIDING_WINDOW_OPTIONS)
      .useValue({ ...options, redis: store === 'on Redis' ? redisUrl : undefined });
    app = (await builder.compile()).createNestApplication({
      logger: false,
      forceCloseConnections: true,
    });
    await app.listen(0, '127.0.0.1');
    page = await browser.newPage();
    page.setDefaultTimeout(8000);
    await page.goto(await app.getUrl());
    await page.locator('#store', { hasText: 'Connected.' }).waitFor();
  });
  afterEach(async () => {
    // The page is still open: it must not keep the server from closing.
    await app.close();
    await page.close();
  });

  const card = (name: string) => page.locator(`#${name}`);
  const hits = (name: string, kind: 'admitted' | 'denied') => card(name).locator(`.hit-${kind}`);
  const press = (name: string, button: string) =>
    card(name).getByRole('button', { name: button }).click();

  it.each(ALGORITHMS)('shows requests fill the window and be denied: %s', async (name) => {
    await press(name, 'Send one');
    await card(name).locator('.state', { hasText: '9 left' }).waitFor();
    await press(name, 'Send ten');
    await card(name).locator('.state', { hasText: '0 left, the next in' }).waitFor();
    await hits(name, 'denied').first().waitFor();
    // A fixed window may have turned meanwhile, a bucket may have got a token.
    expect(await hits(name, 'admitted').count()).toBeGreaterThanOrEqual(10);
    const last = page.locator('#last');
    expect(await last.textContent()).toMatch(/^(201 Created|429 Too Many Requests)\n/);
    expect(await last.textContent()).toContain(`ratelimit-policy: "${name}";q=10;w=10`);
    await page.locator('#offenders', { hasText: 'denied' }).waitFor();
    await screenshot(page, `${name} ${store}`);
  });

  it('shows a window slide free again', async () => {
    await press('sliding-log', 'Send ten');
    await press('token-bucket', 'Send ten');
    await hits('sliding-log', 'admitted').nth(9).waitFor();
    await press('sliding-log', 'Send one');
    await hits('sliding-log', 'denied').first().waitFor();
    await card('token-bucket').locator('.fill').first().waitFor();
    await page.waitForTimeout(1100);
    await press('token-bucket', 'Send one');
    await hits('token-bucket', 'admitted').nth(10).waitFor();
    await hits('sliding-log', 'admitted').first().waitFor({ state: 'detached', timeout: 15_000 });
    await press('sliding-log', 'Send one');
    await card('sliding-log').locator('.state', { hasText: '9 left' }).waitFor();
  }, 40_000);

  it('sends a stream until it is told to stop', async () => {
    const stream = card('sliding-counter').getByRole('button', { name: 'Stream' });
    await stream.click();
    expect(await stream.getAttribute('aria-pressed')).toBe('true');
    await hits('sliding-counter', 'admitted').nth(2).waitFor();
    await stream.click();
    expect(await stream.getAttribute('aria-pressed')).toBe('false');
  });

  it('raises an alert after failed logins', async () => {
    for (let i = 0; i < 5; i++) {
      await page.getByRole('button', { name: 'Fail a login' }).click();
      await page.locator('#last', { hasText: '401' }).waitFor();
    }
    await page.locator('#alerts li', { hasText: 'login-failed' }).first().waitFor();
  });

  it('is used by keyboard alone', async () => {
    await page.keyboard.press('Tab');
    for (let i = 0; i < 8; i++) {
      const focused = await page.locator(':focus').textContent();
      if (focused === 'Send one') break;
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await card('sliding-log').locator('.state', { hasText: '9 left' }).waitFor();
  });

  it('is readable in the dark and on a narrow screen', async () => {
    const background = () =>
      page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await background();
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await background()).not.toBe(light);
    await page.setViewportSize({ width: 360, height: 740 });
    const [scrollWidth, clientWidth] = await page
      .locator('html')
      .evaluate((html) => [html.scrollWidth, html.clientWidth]);
    expect(scrollWidth).toBeLessThanOrEqual(clientWidth);
    await screenshot(page, `narrow and dark ${store}`);
  });
});
