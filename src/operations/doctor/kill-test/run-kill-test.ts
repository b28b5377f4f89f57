import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped } from '../finding.ts'
import { type KillFigures, killAgainAndAgain, LANES_PER_ROUND } from './kill-again-and-again.ts'
import { ServiceChild } from './service-child.ts'
import { makeTestPlace } from './test-place.ts'

/** Kills the real service again and again while it accepts and sends, on data of its own, and counts what came of it. */
export async function runKillTest({
  program,
  settings,
  killRounds,
  signal,
  onProgress,
}: Examination): Promise<CheckResult> {
  if (killRounds === null)
    return skipped(
      'Not asked for: --kill-test proves on this machine that killing the service loses and doubles nothing.',
    )
  if (!settings) return skipped('The settings are wrong, so that it is unknown where to test.')
  onProgress('kill test: making data of its own')
  const place = await makeTestPlace(settings, killRounds * LANES_PER_ROUND)
  const service = new ServiceChild(program, place)
  try {
    const run = { place, service, rounds: killRounds, signal, onProgress }
    const figures = await killAgainAndAgain(run)
    return checkFigures(figures)
  } catch (error) {
    if (!signal.aborted) throw error
    return problem('The kill test was interrupted. Nothing of it was left behind.', 'Run it again, to its end.')
  } finally {
    await service.close()
    await place.remove()
  }
}

/** Pure. */
export function checkFigures({ ledger, kills, slowestAnswerMs, drainedAfterMs }: KillFigures): CheckResult {
  const { acknowledged, delivered, lost, doubled, outOfOrder, unconfirmed, unasked, examples } = ledger
  const facts = { kills, acknowledged, delivered, lost, doubled, outOfOrder, unconfirmed, unasked }
  const times = { slowestAnswerMs: Math.round(slowestAnswerMs), drainedAfterMs: Math.round(drainedAfterMs) }
  const counts = `${acknowledged} acknowledged, ${delivered} delivered, ${lost} lost, ${doubled} doubled, ${outOfOrder} out of order, ${unconfirmed} unconfirmed`
  const words = `Killed ${kills} times: ${counts}. It took calls again within ${inSeconds(slowestAnswerMs)}, and had sent all of it ${inSeconds(drainedAfterMs)} after the last start.`
  if (lost + doubled + outOfOrder + unasked > 0)
    return problem(
      words,
      'Do not send anything that matters from this machine. Check the disk and the other results here, and report this with the examples.',
      { ...facts, ...times, examples: examples.join('; ') },
    )
  if (acknowledged === 0)
    return problem(words, 'Nothing was accepted, so nothing was proven. Run it again with more rounds.', facts)
  return ok(words, { ...facts, ...times })
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
