/** The digits of base 62, in the order of ASCII: what tokens and addresses of ours are written in. */
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
