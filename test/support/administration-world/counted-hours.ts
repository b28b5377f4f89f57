import { HOUR_MS, hourOf } from '../../../src/storage/queries/overview/hours.ts'
import { TallyCounter } from '../../../src/storage/queries/overview/tally-counter.ts'
import { type AdministrationWorld, NOON } from './open-administration-world.ts'

/** Marks all past hours of the accounts as counted just now, except the current one and those that lie `busy` ago. */
export async function isAsOldAs(world: AdministrationWorld, ageMs: number, ...busy: readonly number[]): Promise<void> {
  await world.run('update account set created_at = ?', NOON - ageMs)
  await world.run(
    `with recursive hours (hour) as (select cast(${hourOf(NOON - ageMs)} as bigint) union all
       select hour + ${HOUR_MS} from hours where hour < ${NOON - HOUR_MS})
     insert into tally_hour (hour, counted_at) select hour, ${NOON - 1} from hours
       where hour not in (${[0, ...busy.map((ago) => hourOf(NOON - ago))].join()})`,
  )
}

/** Counts all hours that are due. */
export async function countHours(world: AdministrationWorld): Promise<void> {
  const counter = new TallyCounter(world.store, { wait: async () => {} })
  while (await counter.countNext());
}
