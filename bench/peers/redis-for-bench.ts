import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { findFreePort } from '../../test/support/black-box/free-port.ts'
import { waitUntil } from '../../test/support/black-box/wait-until.ts'

const USUAL = 'redis://127.0.0.1:6379'
const READY_WITHIN_MS = 10_000
const ANSWER_WITHIN_MS = 1_000

/** One Redis to compare with. */
export interface RedisForBench {
  readonly url: string
  /** When it writes to the disk. */
  readonly how: string
  stop(): Promise<void>
}

/**
 * The named Redis, the one that already runs here, or the installed program: first as durable as our 200, then as it is usually
 * run. Empty if there is no Redis.
 */
export function redisChoices(folder: string): readonly (() => Promise<RedisForBench | null>)[] {
  const given = process.env['NUNCIO_BENCH_REDIS_URL']
  if (given !== undefined) return [() => reach(given)]
  let isThere = false
  const usual = async () => {
    const found = await reach(USUAL)
    isThere = found !== null
    return found
  }
  const own = (policy: 'always' | 'everysec') => async () => (isThere ? null : startOwn(folder, policy))
  return [usual, own('always'), own('everysec')]
}

async function reach(url: string): Promise<RedisForBench | null> {
  const { hostname, port } = new URL(url)
  if (!(await answers(hostname, Number(port || 6379)))) return null
  return { url, how: 'a Redis that was there, as it is configured', stop: async () => {} }
}

async function startOwn(folder: string, policy: 'always' | 'everysec'): Promise<RedisForBench | null> {
  const port = await findFreePort()
  const data = `${folder}/redis-${policy}`
  mkdirSync(data)
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', data, '--save', '']
  const child = spawn('redis-server', [...settings, '--appendonly', 'yes', '--appendfsync', policy], {
    stdio: 'ignore',
  })
  const failed = once(child, 'error').then(
    () => true,
    () => true,
  )
  if (await Promise.race([failed, once(child, 'spawn').then(() => false)])) return null
  await waitUntil('Redis answers', () => answers('127.0.0.1', port), { deadlineMs: READY_WITHIN_MS, everyMs: 20 })
  return {
    url: `redis://127.0.0.1:${port}`,
    how: `appendfsync ${policy}`,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Any answer counts: it may ask for a password, which the URL can contain. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port })
    const end = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.setTimeout(ANSWER_WITHIN_MS, () => end(false))
    socket.once('error', () => end(false))
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (bytes) => end(/^[+-]/.test(bytes.toString('latin1'))))
  })
}
