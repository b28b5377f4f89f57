/** A variable that other programs read, too. `adapt` makes its text one of our setting. */
export interface SharedVariable {
  readonly name: `OTEL_${string}`
  readonly adapt?: (text: string) => string
}

// opentelemetry.io/docs/specs/otel/protocol/exporter
export const OTEL_ENDPOINTS: readonly SharedVariable[] = [
  { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' },
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', adapt: (text) => `${text.replace(/\/+$/, '')}/v1/traces` },
]

export const OTEL_HEADERS: readonly SharedVariable[] = [
  { name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS', adapt: decodePercents },
  { name: 'OTEL_EXPORTER_OTLP_HEADERS', adapt: decodePercents },
]

function decodePercents(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded)
    } catch {
      return encoded
    }
  })
}
