import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

/** Forbids imports by pattern, with the reason. */
function no(group, message) {
  return { group, message };
}

/** The rooms in the order of the house: each knows those before it, and none after it. */
const ROOMS = [
  ['rules'],
  ['algorithms'],
  ['stores'],
  ['resilience'],
  ['limiting', 'counting'],
  ['throttler', 'metrics', 'health', 'alerts', 'guard'],
  ['testing'],
];

/** Forbids what comes after a room. */
function after(...rooms) {
  const place = ROOMS.findIndex((step) => rooms.some((room) => step.includes(room)));
  const later = ROOMS.slice(place + 1)
    .flat()
    .map((room) => `**/${room}/**`);
  return no(later, `${rooms.join(', ')} may know what is before it in the house, not after.`);
}

const layers = {
  vocabulary: after('vocabulary'),
  nest: no(['@nestjs/*'], 'No Nest below limiting/ and counting/.'),
  ioredis: no(['ioredis'], 'ioredis only under stores/redis/.'),
  index: no(['**/index.js'], 'Nothing inside lib/ imports a barrel.'),
  simulator: no(
    [
      '**/stores/redis/**',
      '**/resilience/**',
      '**/limiting/**',
      '**/counting/**',
      '**/guard/**',
      '**/throttler/**',
      '**/testing/**',
      '**/cli/**',
    ],
    'simulator/ knows stores/memory/ and what is before it.',
  ),
  commandLine: no(
    ['**/simulator/**', '**/cli/**', 'commander', 'cli-table3', 'cli-progress'],
    'The command line and its packages are loaded by lib/cli/ alone.',
  ),
};

const restrict = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });
const imports = (...patterns) => restrict(layers.commandLine, ...patterns);

export default defineConfig(
  globalIgnores(['dist', '.sample-app', 'coverage', 'docs-api', 'bench/results']),
  js.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-extraneous-class': 'off',
    },
  },
  {
    files: ['lib/**/*.ts'],
    rules: {
      ...imports(layers.ioredis, layers.index),
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time comes from a Clock.' },
        { object: 'performance', property: 'now', message: 'Time comes from a Clock.' },
      ],
    },
  },
  { files: ['lib/clock.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['lib/errors.ts', 'lib/clock.ts', 'lib/decision.ts'],
    rules: imports(layers.vocabulary, layers.nest, layers.ioredis, layers.index),
  },
  ...['rules', 'algorithms', 'stores', 'resilience'].map((room) => ({
    files: [`lib/${room}/**`],
    rules: imports(after(room), layers.nest, layers.ioredis, layers.index),
  })),
  {
    files: ['lib/stores/redis/**'],
    rules: imports(after('stores'), layers.nest, layers.index),
  },
  ...['limiting', 'counting', 'throttler', 'metrics', 'health', 'alerts', 'guard'].map((room) => ({
    files: [`lib/${room}/**`],
    rules: imports(after(room), layers.ioredis, layers.index),
  })),
  {
    files: ['lib/simulator/**'],
    rules: restrict(
      layers.simulator,
      layers.nest,
      layers.ioredis,
      layers.index,
      no(['commander', 'cli-table3', 'cli-progress'], 'Packages of the command line: lib/cli/.'),
    ),
  },
  {
    files: ['lib/cli/**'],
    rules: restrict(layers.nest, layers.ioredis, layers.index),
  },
  {
    files: ['test/**', 'bench/**'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['**/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: {
        URL: 'readonly',
        console: 'readonly',
        process: 'readonly',
        performance: 'readonly',
      },
    },
  },
  {
    files: ['sample-app/public/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          ...['document', 'fetch', 'matchMedia', 'requestAnimationFrame', 'EventSource'],
          ...['setInterval', 'clearInterval', 'setTimeout'],
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  prettier,
);
