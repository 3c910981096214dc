/**
 * Runs the unit of config/examples/systemd under a real systemd, which is process 1 of namespaces of its own: ready,
 * reloaded, watched, stopped. Linux only, as root, with unshare and nsenter (util-linux) and systemd.
 *
 * usage: node tools/lab/systemd.ts
 *
 * Nothing outside is changed: its root is an overlay over this machine's, whose upper side is in memory. The unit is as
 * it stands but for the path of Node, what it comes after, and LoadCredential: a kernel without ACLs in tmpfs lets no
 * DynamicUser read a credential, so the token lies beside the file.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'systemd-lab-'))
const group = `lender-gateway-lab-${process.pid}`

const unit = readFileSync(join(root, 'config/examples/systemd/lender-gateway.service'), 'utf8')
  .replace('/usr/bin/node', process.execPath)
  .replace(/^(Wants|After)=.*$/gm, '$1=systemd-journald.service')
  .replace('[Unit]', '[Unit]\nDefaultDependencies=no')
  .replaceAll(/^LoadCredential=.*\n/gm, '')
writeFileSync(join(folder, 'lender-gateway.service'), unit)
writeFileSync(join(folder, 'lab.target'), '[Unit]\nDefaultDependencies=no\nWants=systemd-journald.service\n')
writeFileSync(join(folder, 'admin-token'), 'lab-of-the-systemd-unit')
writeFileSync(join(folder, 'audit-key'), 'a'.repeat(64))
const groups = 'valuation financing analysis risk inventory leads compliance market'.split(' ')
writeFileSync(
  join(folder, 'gateway.yaml'),
  `version: 1
allowSandbox: true
listen: { host: 127.0.0.1, port: 8080 }
admin: { token: file:admin-token }
audit: { file: /var/log/lender-gateway/audit.log, key: file:audit-key }
shutdown: { wait: 1s }
upstreams: { ${groups.map((name) => `${name}: sandbox`).join(', ')} }
`,
)

/** Makes the root, and becomes systemd. */
const boot = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
R=/mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work $R
mount -t proc proc $R/proc
mount --rbind /sys $R/sys
mount -t tmpfs tmpfs $R/dev
for name in null zero full random urandom tty; do cp -a /dev/$name $R/dev/; done
mkdir $R/dev/shm $R/dev/pts $R/dev/mqueue
mknod -m 666 $R/dev/ptmx c 5 2
ln -s /proc/self/fd $R/dev/fd
mkdir -p $R/opt/lender-gateway $R/etc/lender-gateway
cp -a ${root}/src ${root}/package.json $R/opt/lender-gateway/
ln -s ${root}/node_modules $R/opt/lender-gateway/node_modules
cp ${folder}/*.service ${folder}/*.target $R/etc/systemd/system/
cp ${folder}/gateway.yaml ${folder}/admin-token ${folder}/audit-key $R/etc/lender-gateway/
chmod 644 $R/etc/lender-gateway/*
mount -t tmpfs tmpfs $R/run
mount -t tmpfs tmpfs $R/tmp
ip link set lo up
mkdir $R/before
cd $R
pivot_root . before
umount -l /before
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=lab.target --log-target=null
`
// A cgroup of its own, in one hierarchy or in each.
const apart = `for folder in /sys/fs/cgroup /sys/fs/cgroup/*; do
  [ -e $folder/cgroup.procs ] || continue
  mkdir -p $folder/${group} && { echo $$ > $folder/${group}/cgroup.procs; } 2> /dev/null || true
  [ $folder != /sys/fs/cgroup ] || break
done
exec unshare --pid --fork --kill-child --mount --uts --ipc --net sh -c "$1"`
const outside = spawn('sh', ['-c', apart, 'lab', boot], { stdio: ['ignore', 'inherit', 'inherit'] })

/** Runs a command beside that systemd. */
const inside = async (command: string): Promise<string> => {
  const { stdout: pid } = await run('pgrep', ['-P', String(outside.pid)])
  const into = ['-t', pid.trim(), ...'-m -u -i -n -p -r -w'.split(' ')]
  const { stdout } = await run('nsenter', [...into, 'sh', '-c', command])
  return stdout.trim()
}
const show = (property: string): Promise<string> => inside(`systemctl show -P ${property} lender-gateway`)
const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const from = performance.now()
  while (!(await holds().catch(() => false))) {
    if (performance.now() - from > 90_000) throw new Error(`not within 90 s: ${what}`)
    await sleep(250)
  }
  console.log(`${((performance.now() - from) / 1000).toFixed(1).padStart(5)} s  ${what}`)
}

try {
  await until('systemd runs', async () => (await inside('systemctl --version')).startsWith('systemd '))
  console.log(`         ${(await inside('systemctl --version')).split('\n')[0]}`)
  await until('systemctl start has returned', async () => (await inside('systemctl start lender-gateway')) === '')
  console.log(`         ${await show('ActiveState')}: ${await show('StatusText')}`)
  await inside("echo 'lisen: {}' >> /etc/lender-gateway/gateway.yaml && systemctl reload lender-gateway")
  await until('systemctl status shows the edit that was rejected', async () =>
    (await show('StatusText')).includes('lisen'),
  )
  console.log(`         ${await show('StatusText')}`)
  await inside("sed -i '/^lisen/d' /etc/lender-gateway/gateway.yaml && systemctl reload lender-gateway")
  const sign = await show('WatchdogTimestampMonotonic')
  await until('a sign of life has come', async () => (await show('WatchdogTimestampMonotonic')) !== sign)
  await inside(`kill -STOP ${await show('MainPID')}`)
  await until('a process that stood still was ended', async () => (await show('NRestarts')) === '1')
  await until('and started again', async () => (await show('ActiveState')) === 'active')
  await until('systemctl stop has returned', async () => (await inside('systemctl stop lender-gateway')) === '')
  console.log(
    `         ${await show('Result')}; ${await inside('wc -l < /var/log/lender-gateway/audit.log')} audit lines`,
  )
} finally {
  const ended = once(outside, 'exit')
  outside.kill('SIGKILL')
  await ended
  await sleep(1000)
  await run('sh', ['-c', `find /sys/fs/cgroup -depth -type d -path '*/${group}*' -exec rmdir {} +`]).catch(() => {})
  rmSync(folder, { recursive: true })
}
