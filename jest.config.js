import { readFileSync } from 'node:fs';

const swcrc = JSON.parse(readFileSync(new URL('.swcrc', import.meta.url), 'utf8'));

/**
 * ESM-only packages that CommonJS packages require(): Jest can do that natively only on
 * Node >= 24.9, so on older Node they must be transformed.
 *  - cookie: required by light-my-request (fastify inject)
 *  - content-disposition: required by @fastify/static (Mercurius)
 */
const esmRequiredByCjs = ['cookie', 'content-disposition'].join('|');

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.sample-app'],
  globalSetup: '<rootDir>/test/setup/global-setup.ts',
  globalTeardown: '<rootDir>/test/setup/global-teardown.ts',
  setupFiles: ['<rootDir>/test/setup/worker-env.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': ['@swc/jest', { ...swcrc, swcrc: false, sourceMaps: 'inline' }],
    [`/node_modules/(${esmRequiredByCjs})/.+\\.js$`]: [
      '@swc/jest',
      { swcrc: false, jsc: { target: 'es2022', parser: { syntax: 'ecmascript' } } },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(.*/node_modules/)?(${esmRequiredByCjs})/)`],
  coverageProvider: 'v8',
  collectCoverageFrom: ['lib/**/*.ts'],
  coverageReporters: ['text', 'lcov'],
  workerIdleMemoryLimit: '512MB',
  testTimeout: 30_000,
};
