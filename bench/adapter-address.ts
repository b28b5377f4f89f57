export const ADAPTER_SECRET = `whsec_${Buffer.from('the secret of the bench, 32 bytes').toString('base64')}`
/** Paths below its URL: one accepts messages at once, the other accepts them and never answers. */
export const [INSTANT_PATH, HANGING_PATH] = ['/instant', '/hanging']
