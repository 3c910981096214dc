/** Which listening sockets a process was started with. */
import { expect, test } from 'vitest'
import { inherited, nothingInherited, placeOf } from '../../src/serving/listeners.ts'

const pid = 4711
const systemd = { LISTEN_PID: String(pid), LISTEN_FDS: '2', LISTEN_FDNAMES: 'admin:public' }
const address = { host: '127.0.0.1', port: 8080 }

test('none, when nobody says so', () => {
  expect(inherited({}, pid)).toEqual(nothingInherited)
})

test("systemd's are told apart by their names", () => {
  expect(inherited(systemd, pid)).toEqual({
    public: { fd: 4, named: 'public of LISTEN_FDNAMES' },
    admin: { fd: 3, named: 'admin of LISTEN_FDNAMES' },
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

test("without a socket the file says where, and the port of systemd's must be the file's", () => {
  const { public: theirs } = inherited(systemd, pid)

  expect(placeOf(null, address)).toEqual(address)
  expect(placeOf(theirs, address)).toMatchObject({ fd: 4, port: 8080 })
  expect(placeOf(theirs, { ...address, port: 0 })).toMatchObject({ fd: 4, port: null })
})
