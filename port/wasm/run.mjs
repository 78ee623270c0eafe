// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

// Runs a firmware module in Node: node run.mjs firmware.wasm input.rows
//
// The functions are those of port/board.h, with storage in memory.
import { readFileSync, writeSync } from "node:fs";
import process from "node:process";

const STORAGE_BYTES = 2 * 1024 * 1024;
const storage = new Uint8Array(STORAGE_BYTES).fill(0xff);
const input = readFileSync(process.argv[3]);
const notes = new Uint32Array(256);
let memory;
let line = "";

class Exit {
  constructor(status) {
    this.status = status;
  }
}

function copy(source, address, buffer, bytes) {
  address >>>= 0;
  if (address + bytes > source.length) return -1;
  const part = source.subarray(address, address + bytes);
  new Uint8Array(memory.buffer).set(part, buffer);
  return 0;
}

const env = {
  esk_board_read: (address, buffer, bytes) =>
    copy(storage, address, buffer, bytes),
  esk_board_input: (address, buffer, bytes) =>
    copy(input, address, buffer, bytes),
  esk_board_program(address, buffer, bytes) {
    address >>>= 0;
    if (address + bytes > STORAGE_BYTES) return -1;
    storage.set(new Uint8Array(memory.buffer, buffer, bytes), address);
    return 0;
  },
  esk_board_erase(address, bytes) {
    address >>>= 0;
    if (address + bytes > STORAGE_BYTES) return -1;
    storage.fill(0xff, address, address + bytes);
    return 0;
  },
  esk_board_put(character) {
    line += String.fromCharCode(character);
    if (character !== 10) return;
    writeSync(1, line);
    line = "";
  },
  esk_board_note(slot, number) {
    notes[slot] = number;
  },
  esk_board_noted: (slot) => notes[slot],
  esk_board_exit(status) {
    throw new Exit(status);
  },
};

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const { exports } = new WebAssembly.Instance(module, { env });
memory = exports.memory;
try {
  exports.main();
} catch (ending) {
  if (!(ending instanceof Exit)) throw ending;
  process.exitCode = ending.status;
}
