import { describe, it } from 'vitest'
import { messageStorageKeepsItsPromises } from './message-storage.ts'
import { newPostgresWorld } from './postgres-world.ts'

describe('message storage on PostgreSQL', () => {
  messageStorageKeepsItsPromises({ it }, newPostgresWorld)
})
