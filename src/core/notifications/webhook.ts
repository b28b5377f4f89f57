/** `failing`: disabled by Nuncio, because all tries of some days failed or because the receiver said that it is gone. */
const WEBHOOK_STATES = ['enabled', 'disabled', 'failing'] as const
export type WebhookState = (typeof WEBHOOK_STATES)[number]

/** `failed`: no tries are left. `dropped`: too many waited for this webhook. */
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed', 'dropped'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]
