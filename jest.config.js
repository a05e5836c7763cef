import { readFileSync } from 'node:fs';

const swcrc = JSON.parse(readFileSync(new URL('.swcrc', import.meta.url), 'utf8'));

/**
 * ESM-only packages that CommonJS packages require(): Jest can do that natively only on
 * Node >= 24.9, so on older Node they must be transformed.
 *  - cookie: required by light-my-request (fastify inject)
 *  - content-disposition: required by @fastify/static (Mercurius)
 */
const esmRequiredByCjs = ['cookie', 'content-disposition'].join('|');

/** JavaScript of a package, in the form in which it is loaded. */
const packageTransform = [
  '@swc/jest',
  { swcrc: false, jsc: { target: 'es2022', parser: { syntax: 'ecmascript' } } },
];

const common = {
  testEnvironment: 'node',
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.sample-app'],
  globalSetup: '<rootDir>/test/setup/global-setup.ts',
  globalTeardown: '<rootDir>/test/setup/global-teardown.ts',
  setupFiles: ['<rootDir>/test/setup/worker-env.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
};

const typescript = { '^.+\\.ts$': ['@swc/jest', { ...swcrc, swcrc: false, sourceMaps: 'inline' }] };

/** ES modules, as the library is published. */
const library = {
  ...common,
  displayName: 'library',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // compat/ has a command of its own: npm run test:compat.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/(throttler|compat)/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    ...typescript,
    [`/node_modules/(${esmRequiredByCjs})/.+\\.js$`]: packageTransform,
  },
  transformIgnorePatterns: [`/node_modules/(?!(.*/node_modules/)?(${esmRequiredByCjs})/)`],
};

/**
 * `@nestjs/throttler` is CommonJS and requires Nest, which is ESM: here everything is compiled to
 * CommonJS, Nest too, so that there is one of it.
 */
const throttler = {
  ...common,
  displayName: 'throttler',
  testMatch: ['<rootDir>/test/throttler/**/*.test.ts'],
  transform: { ...typescript, '^.+\\.m?js$': packageTransform },
  transformIgnorePatterns: ['/node_modules/@swc/'],
};

/** @type {import('jest').Config} */
export default {
  projects: [library, throttler],
  coverageProvider: 'v8',
  collectCoverageFrom: ['lib/**/*.ts'],
  coverageReporters: ['text', 'lcov'],
  workerIdleMemoryLimit: '512MB',
  testTimeout: 30_000,
};
