// One database per worker: test files run in parallel against one server.
for (const name of ['REDIS_URL', 'REDIS_ADMIN_URL']) {
  const url = new URL(process.env[name]!);
  url.pathname = `/${process.env.JEST_WORKER_ID ?? '0'}`;
  process.env[name] = url.href;
}
