/** The floor: what the client and the server cost when nothing is limited. */
export const incr = {
  id: 'incr',
  name: 'bare INCR',
  statistics: 'incr',
  async open({ client, prefix }) {
    return {
      call: (key) => client.incr(prefix + key),
      admitted: () => true,
      close: () => undefined,
    };
  },
};

export const emptyScript = {
  id: 'return-1',
  name: 'EVALSHA return 1',
  async open({ client, prefix }) {
    const sha = await client.script('LOAD', 'return 1');
    return {
      call: (key) => client.evalsha(sha, 1, prefix + key),
      admitted: () => true,
      close: () => undefined,
    };
  },
};
