/** Which listening sockets a process was started with. */
import { expect, test } from 'vitest'
import { confirm, handed, inherited, nothingInherited, placeOf, tell, variable } from '../../src/serving/listeners.ts'

const pid = 4711
const systemd = { LISTEN_PID: String(pid), LISTEN_FDS: '2', LISTEN_FDNAMES: 'admin:public' }
const address = { host: '127.0.0.1', port: 8080 }
const said = { operations: [], endpoints: [] }

test('none, when nobody says so', () => {
  expect(inherited({}, pid)).toEqual(nothingInherited)
})

test('what a process tells, its successor understands', () => {
  const told = handed(
    { address: { port: 40_001 }, descriptor: () => 21 },
    { address: { port: 9901 }, descriptor: () => 24 },
    { listen: { host: '::', port: 0 }, admin: { host: 'localhost', port: 9901 } },
    said,
  )
  if (told === null) throw new Error('nothing is handed over')

  const got = inherited({ [variable]: tell(told), ...systemd }, pid)

  expect(got).toMatchObject({
    public: { descriptor: { fd: 3, port: 40_001 }, meant: { host: '::', port: 0 } },
    admin: { descriptor: { fd: 4, port: 9901 }, meant: { host: 'localhost', port: 9901 } },
  })
})

test('nothing is handed over when a listener is closed already', () => {
  const open = { address, descriptor: () => 21 }

  expect(handed(open, { ...open, descriptor: () => null }, { listen: address, admin: address }, said)).toBeNull()
  expect(handed(null, open, { listen: address, admin: address }, said)).toBeNull()
})

test.each([
  '',
  'public=127.0.0.1,8080,8080',
  'public=127.0.0.1,8080,8080 admin=127.0.0.1',
  'admin=127.0.0.1,1,1 public=127.0.0.1,2,2',
  'public=127.0.0.1,8080,8080 admin=127.0.0.1,9901,9901 other=127.0.0.1,1,1',
  'public=127.0.0.1,8080,8080 admin=127.0.0.1,9901,-1',
])('what cannot be read is said as it is: %j', (told) => {
  expect(() => inherited({ [variable]: told }, pid)).toThrow(`${variable} cannot be read: '${told}'`)
})

test("systemd's are told apart by their names", () => {
  expect(inherited(systemd, pid)).toMatchObject({
    public: { descriptor: { fd: 4, named: 'public of LISTEN_FDNAMES' }, meant: null },
    admin: { descriptor: { fd: 3 }, meant: null },
  })
  expect(inherited({ ...systemd, LISTEN_FDS: '1', LISTEN_FDNAMES: 'public' }, pid)).toMatchObject({ admin: null })
})

test('those of another process are none', () => {
  expect(inherited({ ...systemd, LISTEN_PID: '1' }, pid)).toEqual(nothingInherited)
})

test.each([
  [{ LISTEN_FDS: '0' }, /^LISTEN_FDS is '0', which is no number/],
  [{ LISTEN_FDS: '3' }, /^LISTEN_FDS says 3, and LISTEN_FDNAMES names 2: 'admin:public'$/],
  [{ LISTEN_FDS: undefined }, /^LISTEN_FDS is ''/],
  [{ LISTEN_FDNAMES: undefined }, /^LISTEN_FDNAMES is missing: FileDescriptorName= in each socket unit/],
  [{ LISTEN_FDNAMES: 'public:public' }, /^LISTEN_FDNAMES names public twice/],
  [{ LISTEN_FDNAMES: 'public:gateway.socket' }, /^LISTEN_FDNAMES names 'gateway.socket': FileDescriptorName= says/],
])('%j is wrong, and says why', (wrong, message) => {
  expect(() => inherited({ ...systemd, ...wrong }, pid)).toThrow(message)
})

test('a descriptor that is open, but no socket, is none', () => {
  const held = { descriptor: { fd: 9999, named: 'public of LISTEN_FDNAMES', port: null }, meant: null }

  expect(() => confirm({ public: held, admin: null })).toThrow(
    'descriptor 9999 (public of LISTEN_FDNAMES) is no TCP socket that listens',
  )
})

test("the file's word holds for what another process opened, and the port of systemd's must be the file's", () => {
  const { public: ours } = inherited({ [variable]: 'public=127.0.0.1,0,40001 admin=127.0.0.1,0,40002' }, pid)
  const { public: theirs } = inherited(systemd, pid)

  expect(placeOf(null, address)).toEqual(address)
  expect(placeOf(ours, { ...address, port: 0 })).toMatchObject({ fd: 3, port: 40_001 })
  expect(placeOf(theirs, address)).toMatchObject({ fd: 4, port: 8080 })
  expect(placeOf(theirs, { ...address, port: 0 })).toMatchObject({ fd: 4, port: null })
})
