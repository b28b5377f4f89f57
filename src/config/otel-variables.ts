import { baseUrl, headerPairs, type Parsed } from './setting-kinds.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A variable that other programs of the machine also read. If we cannot use its value, it is ignored with a warning. */
export interface SharedVariable<T> {
  readonly name: `OTEL_${string}`
  readonly parse: (text: string) => Parsed<T>
  /** Whether it is used beside these other variables. */
  readonly counts: (environment: Environment) => boolean
}

// opentelemetry.io/docs/specs/otel/protocol/exporter
export const OTEL_ENDPOINTS: readonly SharedVariable<string | null>[] = [
  { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', parse: baseUrl.parse, counts: isTraced },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    parse: (text) => baseUrl.parse(`${text.replace(/\/+$/, '')}/v1/traces`),
    counts: isTraced,
  },
]

// They are for the collector of those variables, and may hold its key.
const hasSameCollector = (environment: Environment) => !environment['NUNCIO_TRACES_URL'] && isTraced(environment)

export const OTEL_HEADERS: readonly SharedVariable<Readonly<Record<string, string>>>[] = [
  { name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS', parse: parseHeaders, counts: hasSameCollector },
  { name: 'OTEL_EXPORTER_OTLP_HEADERS', parse: parseHeaders, counts: hasSameCollector },
]

function isTraced(environment: Environment): boolean {
  const { OTEL_SDK_DISABLED: isOff, OTEL_TRACES_EXPORTER: exporter = 'otlp' } = environment
  const protocol = environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? environment['OTEL_EXPORTER_OTLP_PROTOCOL']
  return isOff?.toLowerCase() !== 'true' && exporter.split(',').includes('otlp') && protocol !== 'grpc'
}

function parseHeaders(text: string): Parsed<Readonly<Record<string, string>>> {
  const parsed = headerPairs.parse(text.replace(/,\s*$/, ''))
  if ('wrong' in parsed) return parsed
  return {
    value: Object.fromEntries(Object.entries(parsed.value).map(([name, value]) => [name, decodePercents(value)])),
  }
}

function decodePercents(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
