export const ADAPTER_SECRET = `whsec_${Buffer.from('the secret of the bench, 32 bytes').toString('base64')}`
/** Below its URL: what takes messages at once, and what takes them and never answers. */
export const [INSTANT_PATH, HANGING_PATH] = ['/instant', '/hanging']
