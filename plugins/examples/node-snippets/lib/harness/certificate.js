'use strict';

// A self-signed certificate for one life of the process, which both sides of the connection then trust and nothing
// else. Node.js makes keys and signatures but no certificates; a fixed one is small enough to write as DER here
// (X.690, and RFC 5280 section 4.1 for the fields), where a library would add a third to the time of the start.

const crypto = require('node:crypto');

function der(tag, ...contents) {
  const body = Buffer.concat(contents);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = Buffer.from(body.length.toString(16).padStart(4, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x82]), length, body]);
}

const sequence = (...contents) => der(0x30, ...contents);
const set = (...contents) => der(0x31, ...contents);
const integer = (bytes) => der(0x02, bytes);
const oid = (hex) => der(0x06, Buffer.from(hex, 'hex'));
const bits = (bytes) => der(0x03, Buffer.from([0]), bytes);
const utf8 = (text) => der(0x0c, Buffer.from(text));
const time = (date) => der(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, ''))); // 20060102150405Z
const extension = (id, value) => sequence(oid(id), der(0x04, value));

const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const SUBJECT_ALT_NAME = '551d11';
const EXTENDED_KEY_USAGE = '551d25';
const SERVER_AUTH = '2b06010505070301';
const CLIENT_AUTH = '2b06010505070302';

const DAY = 24 * 60 * 60 * 1000;

// selfSigned returns {key, certificate} as PEM and {der}, good for localhost, as a server and as a client.
function selfSigned(now = Date.now()) {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const serial = crypto.randomBytes(16);
  serial[0] = (serial[0] & 0x7f) | 0x40; // positive, and no leading zero
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const localhost = sequence(set(sequence(oid(COMMON_NAME), utf8('localhost'))));
  const signed = sequence(
    der(0xa0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    algorithm,
    localhost,
    sequence(time(new Date(now - DAY)), time(new Date(now + 3650 * DAY))),
    localhost,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(SUBJECT_ALT_NAME, sequence(der(0x82, Buffer.from('localhost')))),
        extension(EXTENDED_KEY_USAGE, sequence(oid(SERVER_AUTH), oid(CLIENT_AUTH))),
      ),
    ),
  );
  const raw = sequence(signed, algorithm, bits(crypto.sign('sha256', signed, privateKey)));
  return {
    der: raw,
    certificate: new crypto.X509Certificate(raw).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

module.exports = { selfSigned };
