/** The text for a cancelled message, which may have arrived if there was an attempt. */
export function cancelledText({ state }: { readonly state: string }): string {
  return state === 'CANCELLED'
    ? 'Cancelled: it will not be sent.'
    : 'Taken out of its lane. An earlier attempt may have arrived, so it is unconfirmed.'
}
