"""Four sums of products side by side, each in four lanes.

A loop that adds up one number does not vectorise, because that would change the order of the
additions, and Numba does not make lanes out of four sums written one below the other. So the lanes
are spelt out; their order is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from numba import types
from numba.extending import intrinsic

from keyhole.problem import Floats

Four = tuple[float, float, float, float]

ir: Any = import_module("llvmlite.ir")
_types: Any = types
_known: Any = intrinsic


def _four_sums(typing_context: Any, A: Any, p: Any, v: Any, n: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole, lanes = ir.IntType(64), ir.VectorType(ir.DoubleType(), 4)
        matrix, vector = (
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2)
        )
        wide = builder.extract_value(matrix.shape, 1)
        rows = [builder.gep(matrix.data, [builder.mul(arguments[1], wide)])]
        for _ in range(3):
            rows.append(builder.gep(rows[-1], [wide]))

        before, zero = builder.block, ir.Constant(lanes, [0.0] * 4)
        body, after = builder.append_basic_block("lanes"), builder.append_basic_block("sums")
        builder.cbranch(builder.icmp_signed(">", arguments[3], ir.Constant(whole, 0)), body, after)
        builder.position_at_end(body)
        o, sums = builder.phi(whole), [builder.phi(lanes) for _ in rows]

        def load(start: Any) -> Any:
            place = builder.bitcast(builder.gep(start, [o]), ir.PointerType(lanes))
            return builder.load(place, align=8)

        factor = load(vector.data)
        more = [
            builder.fadd(total, builder.fmul(load(row), factor))
            for total, row in zip(sums, rows, strict=True)
        ]
        next_o = builder.add(o, ir.Constant(whole, 4))
        builder.cbranch(builder.icmp_signed("<", next_o, arguments[3]), body, after)
        builder.position_at_end(after)
        ends = [builder.phi(lanes) for _ in rows]
        o.add_incoming(ir.Constant(whole, 0), before)
        o.add_incoming(next_o, body)
        results = []
        for total, longer, end in zip(sums, more, ends, strict=True):
            for phi in (total, end):
                phi.add_incoming(zero, before)
                phi.add_incoming(longer, body)
            x = [builder.extract_element(end, ir.Constant(ir.IntType(32), i)) for i in range(4)]
            results.append(builder.fadd(builder.fadd(x[0], x[1]), builder.fadd(x[2], x[3])))
        return context.make_tuple(builder, signature.return_type, results)

    return _types.UniTuple(_types.float64, 4)(A, p, v, n), build


# four_sums(A, p, v, n): sum_o A[p + i, o] v[o] over the first n entries, a multiple of 4, for i in
# 0..3. A is in C order; nothing is checked.
four_sums = cast(Callable[[Floats, int, Floats, int], Four], _known(_four_sums))
