import type { Bench } from '../../bench.ts'
import { Child } from '../../child.ts'
import type { Figure } from '../../figure.ts'
import type { BullmqCalls } from '../../peers/bullmq.ts'
import { BULLMQ_FOLDER } from '../../peers/bullmq-folder.ts'
import { type RedisForBench, redisChoices } from '../../peers/redis-for-bench.ts'
import { doneRates, figuresOf, leftOut, measureDone, ratioOf, say, type Turn } from './turns.ts'

// More jobs than it runs in a second, even on a far better machine.
const BULLMQ_PER_SECOND = 40_000

export async function measureBullmq(bench: Bench, ours: readonly number[]): Promise<Figure[]> {
  const bullmq = BULLMQ_FOLDER.find()
  if (bullmq === null) return [leftOut(bench, 'BullMQ', BULLMQ_FOLDER.missing)]
  const figures: Figure[] = []
  for (const choose of redisChoices(bench.newFolder())) {
    const redis = await choose()
    if (!redis) continue
    bench.keep(redis)
    const turns: Turn[] = []
    for (let round = 1; round <= bench.options.rounds; round += 1) {
      turns.push(await takeBullmqTurn(bench, bullmq.folder, redis))
      bench.options.print(`  round ${round}: BullMQ, ${redis.how}: ${say(turns)}`)
    }
    await bench.end(redis)
    const name = `BullMQ ${bullmq.version} without order, ${redis.how}`
    figures.push(
      ...figuresOf(name, turns),
      ratioOf(`dispatch / ${name}`, { ours, theirs: doneRates(turns), reach: { atLeast: 1 } }),
    )
  }
  if (figures.length > 0) return figures
  return [leftOut(bench, 'BullMQ', 'no Redis was reachable, and redis-server is not installed')]
}

async function takeBullmqTurn(bench: Bench, folder: string, { url }: RedisForBench): Promise<Turn> {
  const child = bench.keep(new Child<BullmqCalls>('./peers/bullmq.ts'))
  await child.ask('prepare', { folder, url })
  const jobs = Math.ceil(BULLMQ_PER_SECOND * (bench.options.seconds + bench.warmUpSeconds))
  const addedMs = await child.ask('add', { jobs })
  await child.ask('run', { url })
  const done = await measureDone(bench, child, jobs)
  await bench.end(child)
  return { addedPerSecond: (jobs / addedMs) * 1000, ...done, note: '' }
}
