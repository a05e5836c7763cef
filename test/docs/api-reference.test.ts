import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './pages.js';

it('every public symbol is documented, and refers to none that is not public', async () => {
  const typedoc = join(ROOT, 'node_modules/typedoc/bin/typedoc');
  const told = await promisify(execFile)(process.execPath, [typedoc, '--emit', 'none'], {
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: '1' },
  }).then(
    ({ stderr }) => stderr,
    ({ stderr, stdout }: { stderr: string; stdout: string }) => stderr + stdout,
  );
  expect(told.split('\n').filter((line) => /warning|error/i.test(line))).toEqual([]);
}, 60_000);
