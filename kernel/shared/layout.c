// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fields by their names, from the kernel's type information (Documentation/bpf/btf.rst). */
#include <uapi/linux/btf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "layout.h"

/* Numbers of the file's format, for kinds that older headers lack. */
#define KIND_FLOAT 16
#define KIND_DECL_TAG 17
#define KIND_TYPE_TAG 18
#define KIND_ENUM64 19

#ifndef __LITTLE_ENDIAN
#error "bit-fields are looked up as little-endian machines have them"
#endif

#define BTF_FILE "/sys/kernel/btf/vmlinux"
/* Maximum nesting of anonymous structures. */
#define DEEPEST 8

struct braid_layout braid_layout __ro_after_init;

/* A required field. */
struct wanted {
	const char *structure;
	const char *field;
	u32 bits;
	u32 *offset;
};

#define WANTED(structure, field, bits) { #structure, #field, bits, &braid_layout.structure##_##field },

struct types {
	const u8 *begin;
	const char *names;
	u32 bytes, names_bytes;
	u32 *offsets; /* offsets of types by number, from 1 */
	u32 n;
};

/* Bytes after the common part of a type; -1: an unknown kind. */
static int __init more_bytes(const struct btf_type *type)
{
	u32 n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case KIND_FLOAT:
	case KIND_TYPE_TAG: return 0;
	case BTF_KIND_INT: return sizeof(u32);
	case BTF_KIND_VAR: return sizeof(struct btf_var);
	case KIND_DECL_TAG: return sizeof(u32);
	case BTF_KIND_ARRAY: return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION: return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM: return n * sizeof(struct btf_enum);
	case KIND_ENUM64: return n * 3 * sizeof(u32);
	case BTF_KIND_FUNC_PROTO: return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC: return n * sizeof(struct btf_var_secinfo);
	}
	return -1;
}

/* Numbers the types; the second pass stores their offsets. */
static int __init number(struct types *types)
{
	u32 at = 0;

	types->n = 0;
	while (at + sizeof(struct btf_type) <= types->bytes) {
		int more = more_bytes((const void *)(types->begin + at));

		if (more < 0)
			return -EINVAL;
		if (types->offsets)
			types->offsets[types->n] = at;
		types->n++;
		at += sizeof(struct btf_type) + more;
	}
	return at == types->bytes ? 0 : -EINVAL;
}

static const struct btf_type *__init type_of(const struct types *types, u32 id)
{
	return id && id <= types->n ? (const void *)(types->begin + types->offsets[id - 1]) : NULL;
}

static const char *__init name_at(const struct types *types, u32 offset)
{
	return offset < types->names_bytes ? types->names + offset : "";
}

/* Strips typedef, const and the like. */
static const struct btf_type *__init plain(const struct types *types, u32 id)
{
	const struct btf_type *type = type_of(types, id);
	int i;

	for (i = 0; type && i < 2 * DEEPEST; i++) {
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case KIND_TYPE_TAG: type = type_of(types, type->type); break;
		default: return type;
		}
	}
	return NULL;
}

static bool __init has_members(const struct btf_type *type)
{
	return type && (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT || BTF_INFO_KIND(type->info) == BTF_KIND_UNION);
}

static u32 __init bits_of(const struct btf_type *type)
{
	if (!type)
		return 0;
	return BTF_INFO_KIND(type->info) == BTF_KIND_PTR ? BITS_PER_LONG : 8 * type->size;
}

/* Finds a member, also in anonymous structures within this one. */
static bool __init find_member(const struct types *types, const struct btf_type *type, const char *name, int depth,
			       u32 *offset, u32 *bits)
{
	const struct btf_member *member = (const void *)(type + 1);
	u32 i;

	for (i = 0; i < BTF_INFO_VLEN(type->info); i++, member++) {
		bool has_bits = BTF_INFO_KFLAG(type->info);
		u32 at = has_bits ? BTF_MEMBER_BIT_OFFSET(member->offset) : member->offset;
		u32 width = has_bits ? BTF_MEMBER_BITFIELD_SIZE(member->offset) : 0;
		const struct btf_type *inner = plain(types, member->type);

		if (member->name_off) {
			if (strcmp(name_at(types, member->name_off), name))
				continue;
			*offset = at;
			*bits = width ? width : bits_of(inner);
			return true;
		}
		if (depth && has_members(inner) && find_member(types, inner, name, depth - 1, offset, bits)) {
			*offset += at;
			return true;
		}
	}
	return false;
}

static int __init find(const struct types *types, const struct wanted *wanted)
{
	u32 id, offset, bits;

	for (id = 1; id <= types->n; id++) {
		const struct btf_type *type = type_of(types, id);

		if (BTF_INFO_KIND(type->info) != BTF_KIND_STRUCT ||
		    strcmp(name_at(types, type->name_off), wanted->structure))
			continue;
		if (!find_member(types, type, wanted->field, DEEPEST, &offset, &bits))
			break;
		if (wanted->bits ? bits != wanted->bits || offset % 8 : bits != 1 && bits != 8) {
			pr_err(KBUILD_MODNAME
			       ": %s.%s of this kernel has %u bits, not %u: this module is for other kernels\n",
			       wanted->structure, wanted->field, bits, wanted->bits ? wanted->bits : 1);
			return -ENOEXEC;
		}
		*wanted->offset = offset;
		return 0;
	}
	pr_err(KBUILD_MODNAME ": this kernel has no %s.%s: this module is for other kernels\n", wanted->structure,
	       wanted->field);
	return -ENOEXEC;
}

static int __init find_all(struct types *types)
{
	static const struct wanted wanted[] __initconst = { BRAID_LAYOUT(WANTED) };
	int i, error;

	error = number(types);
	if (error)
		return error;
	types->offsets = kvmalloc_array(types->n, sizeof(u32), GFP_KERNEL);
	if (!types->offsets)
		return -ENOMEM;
	error = number(types);
	for (i = 0; !error && i < ARRAY_SIZE(wanted); i++)
		error = find(types, &wanted[i]);
	kvfree(types->offsets);
	return error;
}

/* Reads the whole file into memory for vfree. Does not use kernel_read_file: it passes the file's purpose to security
 * modules, which has no constant here, and some of them warn. */
static ssize_t __init read_all(const char *path, void **content)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	loff_t bytes, at = 0;
	ssize_t got = -ENOMEM;

	if (IS_ERR(file))
		return PTR_ERR(file);
	bytes = i_size_read(file_inode(file));
	*content = bytes > 0 && bytes < INT_MAX ? vmalloc(bytes) : NULL;
	while (*content && at < bytes) {
		got = kernel_read(file, *content + at, bytes - at, &at);
		if (got <= 0)
			break;
	}
	fput(file);
	return *content && at == bytes ? bytes : got < 0 ? got : -EIO;
}

int __init braid_layout_find(void)
{
	struct types types = { 0 };
	const struct btf_header *header;
	void *file = NULL;
	ssize_t bytes;
	int error = -EINVAL;

	bytes = read_all(BTF_FILE, &file);
	if (bytes < 0) {
		vfree(file);
		return -ENOENT;
	}
	header = file;
	if (bytes >= sizeof(*header) && header->magic == BTF_MAGIC && header->hdr_len <= bytes &&
	    (u64)header->hdr_len + header->type_off + header->type_len <= bytes &&
	    (u64)header->hdr_len + header->str_off + header->str_len <= bytes) {
		types.begin = file + header->hdr_len + header->type_off;
		types.bytes = header->type_len;
		types.names = file + header->hdr_len + header->str_off;
		types.names_bytes = header->str_len;
		error = find_all(&types);
	}
	if (error == -EINVAL)
		pr_err(KBUILD_MODNAME ": " BTF_FILE " is written in a way that this module does not know\n");
	vfree(file);
	return error;
}
