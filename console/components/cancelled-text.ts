/** What to say of a message that a person took out: one that was handed over before may have arrived all the same. */
export function cancelledText({ state }: { readonly state: string }): string {
  return state === 'CANCELLED'
    ? 'Cancelled: it will not be sent.'
    : 'Taken out of its lane. An earlier attempt may have arrived, so it is unconfirmed.'
}
