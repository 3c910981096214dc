/** A real Prometheus with the configurations for Kubernetes, and a pod of the manifests. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { needProgram } from '../../../helpers/program.ts'
import { type Prometheus, runPrometheus } from '../../../helpers/prometheus.ts'
import { metricsTokenBeside } from '../configurations.ts'
import { at, documentsOf, examples, manifestOf, read, scratch, type Tree } from '../files.ts'
import { startPod } from '../pod.ts'

const prometheus = await needProgram('prometheus')
const text = read(`${examples}/prometheus/prometheus-kubernetes.yml`)
const template = at(manifestOf('Deployment'), 'spec', 'template')

/**
 * What the discovery of pods finds of a pod of the Deployment, and of one like it of another application: a target for
 * each port of a container. Debian's Prometheus is built without that discovery, so what it would find is listed, and
 * the rest of the job is as it stands.
 */
const discovered = (adminPort: number): readonly Tree[] => {
  const ours = at(template, 'metadata', 'labels', 'app.kubernetes.io/name')
  const ports = at(template, 'spec', 'containers', 0, 'ports') as readonly Tree[]
  return [
    ['lender-gateway-7d9f', ours],
    ['other-5c4b', 'other'],
  ].flatMap(([pod, application]) =>
    ports.map(({ name, containerPort }) => ({
      targets: [`127.0.0.1:${name === 'admin' ? adminPort : containerPort}`],
      labels: {
        __meta_kubernetes_pod_name: pod,
        __meta_kubernetes_pod_label_app_kubernetes_io_name: application,
        __meta_kubernetes_pod_container_port_name: name,
      },
    })),
  )
}

/**
 * The job that the Prometheus operator makes of the PodMonitor, as far as labels go (its `generatePodMonitorConfig`):
 * first its own labels of each target, then those that the manifest asks for.
 */
const operatorJob = (token: string): Tree => {
  const { spec } = manifestOf('PodMonitor')
  const endpoint = at(spec, 'podMetricsEndpoints', 0)
  const jobLabel = String(at(spec, 'jobLabel')).replaceAll(/\W/g, '_')
  const kept = Object.entries(at(spec, 'selector', 'matchLabels') as Tree).map(([label, regex]) => ({
    source_labels: [`__meta_kubernetes_pod_label_${label.replaceAll(/\W/g, '_')}`],
    regex,
    action: 'keep',
  }))
  return {
    job_name: 'podMonitor/lender/lender-gateway/0',
    authorization: { credentials: token },
    relabel_configs: [
      ...kept,
      { source_labels: ['__meta_kubernetes_pod_container_port_name'], regex: at(endpoint, 'port'), action: 'keep' },
      { source_labels: ['__meta_kubernetes_pod_name'], target_label: 'pod' },
      { source_labels: [`__meta_kubernetes_pod_label_${jobLabel}`], target_label: 'job' },
      { target_label: 'endpoint', replacement: at(endpoint, 'port') },
      ...(at(endpoint, 'relabelings') as readonly Tree[]).map(({ sourceLabels, targetLabel, ...rest }) => ({
        ...(sourceLabels === undefined ? {} : { source_labels: sourceLabels }),
        ...(targetLabel === undefined ? {} : { target_label: targetLabel }),
        ...rest,
      })),
    ],
  }
}

describe.skipIf(prometheus.missing)('a real Prometheus', () => {
  const instances = (points: Awaited<ReturnType<Prometheus['query']>>) =>
    points.map(({ labels, value }) => [labels.job, labels.instance, value])

  test.each([
    ['reads', metricsTokenBeside, 1],
    ['with another token does not read', 'x'.repeat(64), 0],
  ])('%s the admin port of every pod of the Deployment, and nothing else', async (_, token, up) => {
    const { adminPort } = await startPod()
    const folder = scratch({ 'metrics-token': token })
    const [config] = documentsOf(text.replace('/etc/prometheus/lender-gateway/', `${folder}/`))
    const [{ kubernetes_sd_configs: discovery, ...job } = {}] = at(config, 'scrape_configs') as readonly Tree[]
    const scrape_configs = [{ ...job, static_configs: discovered(adminPort) }]

    const watching = await runPrometheus(prometheus.path ?? '', { ...config, scrape_configs })
    onTestFinished(() => watching.close())

    const [{ namespace } = {}] = documentsOf(read(`${examples}/kubernetes/overlays/production/kustomization.yaml`))
    expect(discovery).toEqual([{ role: 'pod', namespaces: { names: [namespace] } }])
    await expect
      .poll(async () => instances(await watching.query('up')))
      .toEqual([[job.job_name, 'lender-gateway-7d9f', up]])
    expect(await watching.query('lender_gateway_ready')).toHaveLength(up)
  })

  test('with the PodMonitor has the labels that the alerts and the dashboard ask for', async () => {
    const { adminPort } = await startPod()
    const scrape_configs = [{ ...operatorJob(metricsTokenBeside), static_configs: discovered(adminPort) }]

    const watching = await runPrometheus(prometheus.path ?? '', { rule_files: ['alerts.yml'], scrape_configs })
    onTestFinished(() => watching.close())

    const up = async () => instances(await watching.query('up'))
    await expect.poll(up).toEqual([['lender-gateway', 'lender-gateway-7d9f', 1]])
    const endpoints = await watching.query('count by (endpoint) (lender_gateway_endpoint_state{group="risk"})')
    expect(endpoints.map(({ labels }) => labels)).toEqual([{ endpoint: 'http://risk.lending.svc:8080' }])
    expect(await watching.query('{__name__=~"lender_gateway_.*", exported_endpoint!=""}')).toEqual([])
  })
})
