// SPDX-License-Identifier: MIT
/*
 * The checksum is CRC-32C and goes on where it was left.
 */
#include "store/crc32c.h"
#include "tap.h"

/* Known answers: the catalogue of CRCs, and those of RFC 3720. */
TEST(test_answers, "known answers")
{
	unsigned char block[32] = { 0 };

	EQUAL(chario_crc32c(0, "123456789", 9), 0xe3069283);
	EQUAL(chario_crc32c(0, block, sizeof(block)), 0x8a9136aa);
	memset(block, 0xff, sizeof(block));
	EQUAL(chario_crc32c(0, block, sizeof(block)), 0x62a8ab43);
	for (unsigned char i = 0; i < sizeof(block); i++)
		block[i] = i;
	EQUAL(chario_crc32c(0, block, sizeof(block)), 0x46dd794e);
	EQUAL(chario_crc32c(0, block, 0), 0);
}

/* Bit by bit, as the polynomial says. */
static uint32_t slow(uint32_t crc, const unsigned char *memory, size_t bytes)
{
	crc = ~crc;
	while (bytes--) {
		crc ^= *memory++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

TEST(test_chain, "a checksum goes on, at any length and alignment")
{
	static unsigned char memory[10000];
	uint32_t whole;

	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (unsigned char)(i * 7 + i / 251);
	whole = slow(0, memory, sizeof(memory));
	for (size_t cut = 0; cut <= sizeof(memory); cut += cut < 300 ? 1 : 97) {
		uint32_t crc = chario_crc32c(0, memory, cut);

		EQUAL(crc, slow(0, memory, cut));
		EQUAL(chario_crc32c(crc, memory + cut, sizeof(memory) - cut), whole);
	}
}

TEST_MAIN(tap_nothing, tap_nothing)
