import type { EndpointConfig, HealthCheckConfig, UpstreamConfig } from '../../config/config.ts'
import { epochMs, systemMs } from '../../lib/clock.ts'
import { isIP } from '../../lib/net/addresses.ts'
import type { LogEvent } from '../../log/log.ts'
import { EndpointHealth, type HealthCheckOutage } from '../health/endpoint-health.ts'
import { type HealthCheckCallbacks, probeEndpoint, startHealthCheck } from '../health/health-check.ts'
import type { PlaceWaiter } from '../http1/client-places.ts'
import { ConnectionPool } from '../http1/connection-pool.ts'
import { createConnector } from '../http1/connector.ts'
import { startDnsRefresh } from './dns.ts'
import { getEndpointCertificates } from './endpoint-certificates.ts'

type OnOutage = (down: HealthCheckOutage | null) => void

export class Endpoint {
  readonly name: string
  readonly pathPrefix: string
  readonly authority: string
  readonly health: EndpointHealth
  readonly pool: ConnectionPool
  inFlight = 0
  readonly #connect: ReturnType<typeof createConnector>
  readonly #stopDnsRefresh: (() => void) | null
  readonly #logEvent: LogEvent
  readonly #onOutage: OnOutage | null
  #activeCheck: { readonly config: string; readonly close: () => void } | null = null

  /**
   * `onOutage` null: another process probes and calls {@link applyOutage}. `isFair`: clients share the connections.
   */
  constructor(
    endpoint: Pick<EndpointConfig, 'origin' | 'pathPrefix'>,
    origin: string,
    upstream: UpstreamConfig,
    logEvent: LogEvent = () => {},
    onOutage: OnOutage | null = () => {},
    isFair = true,
  ) {
    this.name = endpoint.origin + endpoint.pathPrefix
    this.pathPrefix = endpoint.pathPrefix
    const { host: authority, hostname } = new URL(origin)
    this.authority = authority
    this.health = new EndpointHealth(getEndpointCertificates(upstream.tls, authority))
    this.#logEvent = logEvent
    this.#onOutage = onOutage
    this.#connect = createConnector(origin, upstream.tls, upstream.timeouts.connect)
    this.pool = new ConnectionPool({ ...upstream, keepAliveMs: upstream.keepAlive, isFair, connect: this.#connect })
    const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
    this.#stopDnsRefresh = isAddress ? null : this.#startDnsRefresh(hostname, upstream.resolve)
  }

  acquire(waiter: PlaceWaiter): void {
    this.pool.acquire(waiter)
  }

  /** Null: no probes; the endpoint is up. */
  configureHealthCheck(checkConfig: HealthCheckConfig | null, host: UpstreamConfig['host']): void {
    if (this.#onOutage === null) return
    const config = JSON.stringify([checkConfig, host])
    if (this.#activeCheck?.config === config) return
    this.#activeCheck?.close()
    this.#activeCheck = checkConfig === null ? null : { config, close: this.#startCheck(checkConfig, host) }
    if (checkConfig === null) this.#markUp('no longer probed')
  }

  stopHealthCheck(): void {
    this.#activeCheck?.close()
    this.#activeCheck = null
  }

  applyOutage(down: HealthCheckOutage | null): void {
    if (down !== null) this.health.markDown(down)
    else if (this.health.down !== null) this.health.markHealthy()
  }

  async close(): Promise<void> {
    this.#stop()
    await this.pool.close()
  }

  async destroy(reason: Error): Promise<void> {
    this.#stop()
    await this.pool.destroy(reason)
  }

  #stop(): void {
    this.#stopDnsRefresh?.()
    this.stopHealthCheck()
  }

  #startDnsRefresh(hostname: string, everyMs: number): () => void {
    const { health, name: endpoint } = this
    let known = false
    let failing = false
    return startDnsRefresh(hostname, everyMs, {
      onResolved: (addresses) => {
        if (failing) this.#logEvent('info', 'endpoint resolved', { endpoint })
        known = true
        failing = false
        health.unresolved = null
        health.outdated = null
        health.certificates.retain(addresses.map(({ address }) => address))
        this.pool.updateAddresses(addresses)
      },
      onFailure: (reason) => {
        failing = true
        this.#logEvent('warn', 'endpoint not resolved', { endpoint, reason })
        const { since } = health.outdated ?? health.unresolved ?? { since: epochMs() }
        if (known) health.outdated = { since, reason }
        else health.unresolved = { since, reason }
      },
    })
  }

  #startCheck(config: HealthCheckConfig, host: UpstreamConfig['host']): () => void {
    const connect = this.#connect(this.pool.lookup)
    const hostHeader = typeof host === 'string' ? this.authority : host.name
    let wellAt: number | null = null
    const callbacks: HealthCheckCallbacks = {
      onProbe: (last) => {
        this.health.lastProbe = last
        if (last.reason === null) wellAt = systemMs()
      },
      onUp: () => this.#markUp('probes succeed'),
      onDown: (reason) => {
        this.#reportOutage({ since: epochMs(), reason, wellAt })
        this.#logEvent('warn', 'endpoint down', { endpoint: this.name, reason })
      },
    }
    const probe = () => probeEndpoint(connect, hostHeader, config)
    return startHealthCheck(config, probe, callbacks, Math.random, this.health.down === null)
  }

  #markUp(reason: string): void {
    if (this.health.down === null) return
    this.#reportOutage(null)
    this.#logEvent('info', 'endpoint up', { endpoint: this.name, reason })
  }

  #reportOutage(down: HealthCheckOutage | null): void {
    this.applyOutage(down)
    this.#onOutage?.(down)
  }
}
