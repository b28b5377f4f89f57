import { type Break, over } from './over.ts'

/** Engines that each break one promise about the sessions of channels. */
export const BROKEN_SESSIONS: Readonly<Record<string, Break>> = {
  'shows a session to a worker that has lost its lane': (world) => ({
    sessions: over(world.sessions, {
      find: async (lane) => {
        const [row] = await world.sql(`select epoch from lane where connection_id = '${lane.connectionId}'`)
        return world.sessions.find({ ...lane, epoch: Number(row?.['epoch']) })
      },
    }),
  }),
  'takes changes of a session by a worker that has lost its lane': (world) => ({
    sessions: over(world.sessions, {
      write: async (right, change) => {
        const [row] = await world.sql(`select epoch from lane where connection_id = '${right.connectionId}'`)
        return world.sessions.write({ ...right, epoch: Number(row?.['epoch']) }, change)
      },
    }),
  }),
  'goes on with a session that may have gone back': (world) => ({
    sessions: over(world.sessions, {
      write: async (right, change) => {
        const [row] = await world.sql('select holds from checkpoint')
        return world.sessions.write({ ...right, holds: Number(row?.['holds']) }, change)
      },
    }),
  }),
  'never says that a session is to be reset': ({ sessions }) => ({
    sessions: over(sessions, {
      find: async (lane) => {
        const found = await sessions.find(lane)
        return found?.row ? { ...found, row: { ...found.row, holds: found.holds } } : found
      },
    }),
  }),
  'writes the keys of a session one by one': ({ sessions }) => ({
    sessions: over(sessions, {
      write: async (right, { keys = [], ...change }) => {
        const isWritten = await sessions.write(right, change)
        for (const key of keys) await sessions.write(right, { keys: [key] })
        return isWritten
      },
    }),
  }),
  'leaves keys behind when a session is removed': (world) => ({
    sessions: over(world.sessions, {
      remove: async ({ connectionId }) => {
        await world.sql(`delete from channel_session where connection_id = '${connectionId}'`)
        return true
      },
    }),
  }),
}
