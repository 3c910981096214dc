import { defaultIpv6Prefix } from '../exchange/request-owner.ts'
import type { Config, ListenConfig, OperationConfig, UpstreamConfig } from './config.ts'

/** What core and other features may ask a feature of a configuration, in every process and thread. Loads nothing. */
export interface ConfigFacts {
  /** Whether clients have to prove who they are. */
  authenticates?(operation: OperationConfig): boolean
  /** Whether upstreams get what clients prove it by. */
  forwardsCredentials?(config: Config): boolean
  clientNames?(config: Config): readonly string[]
  /** The bits of an IPv6 address that count as one client. */
  ipv6Prefix?(config: Config): number | undefined
  /** Request fields that carry credentials. */
  credentialFields?(config: Config): readonly string[]
  /** Request fields that tell clients apart where none has to prove who it is. They carry credentials too. */
  partitionFields?(config: Config): readonly string[]
  /** Request fields that carry no credentials, whatever their names. */
  keyFields?(operation: OperationConfig): readonly string[]
  /** Whether stored responses serve an operation. */
  isStored?(operation: OperationConfig): boolean
  /** What shapes the responses to an operation, besides its upstream. */
  shapesResponses?(operation: OperationConfig, config: Config): unknown
  /** Whether a request that can be repeated is sent again after this failure or status. */
  repeats?(upstream: UpstreamConfig, cause: string | number | null): boolean
  /** Whether clients may be on another side of the group than its primary. */
  dividesClients?(upstream: UpstreamConfig): boolean
  /** Whether requests may arrive without a field that their clients sent. */
  mayLackFields?(listen: ListenConfig): boolean
  /** The clients' scheme by what terminates TLS in front; empty: unknown; null: nothing is in front. */
  clientScheme?(listen: ListenConfig): 'https:' | '' | null
  /** What the gateway is called in its telemetry. */
  serviceName?(config: Config): string | undefined
}

/** By feature, in the order of the list. */
export const configFacts = new Map<string, ConfigFacts>()

/** Asks all features. */
export const askFacts = <T>(ask: (facts: ConfigFacts) => T | readonly T[] | null | undefined): readonly T[] =>
  [...configFacts.values()].flatMap((facts) => ask(facts) ?? [])

export const authenticates = (operation: OperationConfig): boolean =>
  askFacts((facts) => facts.authenticates?.(operation)).includes(true)

export const listClientNames = (config: Config): readonly string[] => askFacts((facts) => facts.clientNames?.(config))

export const findServiceName = (config: Config): string | undefined =>
  askFacts((facts) => facts.serviceName?.(config))[0]

export const clientIpv6Prefix = (config: Config): number =>
  askFacts((facts) => facts.ipv6Prefix?.(config))[0] ?? defaultIpv6Prefix

/** In any case, as configured. */
export const partitionFields = (config: Config): readonly string[] =>
  askFacts((facts) => facts.partitionFields?.(config))

/** In any case, as configured. */
export const credentialFields = (config: Config): readonly string[] =>
  askFacts((facts) => [...(facts.partitionFields?.(config) ?? []), ...(facts.credentialFields?.(config) ?? [])])
