import { describe, it } from 'vitest'
import { channelKeepsItsPromises } from './channel.ts'
import { newSandboxWorld } from './sandbox-world.ts'

describe('the sandbox', () => {
  channelKeepsItsPromises({ it }, () => newSandboxWorld())
})
