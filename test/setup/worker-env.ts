// One database per worker: test files run in parallel against one server.
const url = new URL(process.env.REDIS_URL!);
url.pathname = `/${process.env.JEST_WORKER_ID ?? '0'}`;
process.env.REDIS_URL = url.href;
