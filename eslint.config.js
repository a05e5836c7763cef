import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

/** Forbids imports by pattern, with the reason. */
function no(group, message) {
  return { group, message };
}

const layers = {
  vocabulary: no(
    [
      '**/rules/**',
      '**/algorithms/**',
      '**/stores/**',
      '**/limiting/**',
      '**/counting/**',
      '**/guard/**',
      '**/testing/**',
    ],
    'The vocabulary (errors, clock, decision) imports nothing of ours.',
  ),
  rules: no(
    [
      '**/algorithms/**',
      '**/stores/**',
      '**/resilience/**',
      '**/limiting/**',
      '**/counting/**',
      '**/guard/**',
      '**/testing/**',
    ],
    'rules/ knows the vocabulary alone.',
  ),
  algorithms: no(
    [
      '**/stores/**',
      '**/resilience/**',
      '**/limiting/**',
      '**/counting/**',
      '**/guard/**',
      '**/testing/**',
    ],
    'algorithms/ knows rules/ and the vocabulary.',
  ),
  stores: no(
    ['**/resilience/**', '**/limiting/**', '**/counting/**', '**/guard/**', '**/testing/**'],
    'stores/ knows algorithms/ and what is before it.',
  ),
  services: no(['**/guard/**', '**/testing/**'], 'Services do not know the guard.'),
  nest: no(['@nestjs/*'], 'No Nest in rules/, algorithms/ and stores/.'),
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
  {
    files: ['lib/rules/**'],
    rules: imports(layers.rules, layers.nest, layers.ioredis, layers.index),
  },
  {
    files: ['lib/algorithms/**'],
    rules: imports(layers.algorithms, layers.nest, layers.ioredis, layers.index),
  },
  {
    files: ['lib/stores/**'],
    rules: imports(layers.stores, layers.nest, layers.ioredis, layers.index),
  },
  { files: ['lib/stores/redis/**'], rules: imports(layers.stores, layers.nest, layers.index) },
  {
    files: ['lib/limiting/**', 'lib/counting/**', 'lib/throttler/**'],
    rules: imports(layers.services, layers.ioredis, layers.index),
  },
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
  prettier,
);
