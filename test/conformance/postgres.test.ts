import { describe, it } from 'vitest'
import { messageStorageKeepsItsPromises } from './message-storage.ts'
import { KeptPostgres } from './postgres-world.ts'

const { newWorld } = new KeptPostgres()

describe('message storage on PostgreSQL', () => {
  messageStorageKeepsItsPromises({ it }, newWorld)
})
