import { describe, it } from 'vitest'
import { mediaOfSeveralWorkersKeepsItsPromises } from './media-of-several-workers.ts'
import { KeptPostgres } from './postgres-world.ts'

const { newWorld } = new KeptPostgres()

describe('media of several workers on PostgreSQL', () => {
  mediaOfSeveralWorkersKeepsItsPromises({ it }, newWorld)
})
