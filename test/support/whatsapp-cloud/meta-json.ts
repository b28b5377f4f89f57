import { createHmac } from 'node:crypto'

/**
 * Writes JSON as Meta writes its callbacks: ASCII only, with escaped slashes. A program that parses it and writes it again gets
 * other bytes, and another signature.
 */
export function writeMetaJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The value of the header X-Hub-Signature-256. */
export function signCallback(body: string, appSecret: string): string {
  return `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
}
