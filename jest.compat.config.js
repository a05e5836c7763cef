import base from './jest.config.js';

/**
 * Installs the package from the registry's versions of Nest and ioredis: slow, and it needs the
 * registry, so it is not a part of `npm test`.
 */
const [library] = base.projects;

/** @type {import('jest').Config} */
export default {
  ...library,
  displayName: 'compat',
  testMatch: ['<rootDir>/test/compat/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 300_000,
};
