import { describe, it } from 'vitest'
import { channelKeepsItsPromises } from './channel.ts'
import { newWhatsAppCloudWorld } from './whatsapp-cloud-world.ts'

describe('the WhatsApp Business Cloud API', () => {
  channelKeepsItsPromises({ it }, () => newWhatsAppCloudWorld())
})
