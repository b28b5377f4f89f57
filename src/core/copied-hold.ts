/** The begin of the reason of the hold that stays on an installation which was copied. */
export const COPIED = 'the data were copied to '

/** Whether all numbers are held because another installation may send what waits here. */
export function isCopiedHold(reason: string): boolean {
  return reason.startsWith(COPIED)
}
